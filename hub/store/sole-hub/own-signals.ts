/** Signals of a hub that has its store alone: each is a call of its own listeners. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Signal, SignalListener, Signals } from '../../core/ports/signals.js';

export function ownSignals(log: Pick<Logger, 'error'>): Signals {
  let listeners: readonly SignalListener[] = [];
  return {
    tell: (signal) => {
      for (const listener of listeners) {
        const handle = listener[signal.kind] as ((signal: Signal) => void) | undefined;
        if (!handle) continue;
        try {
          handle(signal);
        } catch (error) {
          // The other listeners must not miss the signal.
          log.error({ err: error, signal: signal.kind }, 'a listener failed on a signal');
        }
      }
    },
    hear: (listener) => {
      listeners = [...listeners, listener];
      return () => {
        listeners = listeners.filter((other) => other !== listener);
      };
    },
    caughtUp: async () => undefined,
  };
}
