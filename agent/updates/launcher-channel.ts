/** The channel to the launcher that has started this process, if one has. */
import type { FromLauncher, Launch, Launcher, ToLauncher } from '../core/ports/launcher.js';
import { LAUNCH_VARIABLE } from '../core/ports/launcher.js';

/** A launcher that this process is joined to. */
export interface JoinedLauncher extends Launcher {
  /** Aborted when the launcher wants this agent to stop, and when the launcher has gone. */
  readonly stopSignal: AbortSignal;
}

type Channel = Pick<NodeJS.Process, 'connected' | 'on' | 'send' | 'exit'>;

const CRASHED = 1;

/** Null for an agent that was started by hand or by a service. A second request to stop exits at once. */
export function joinLauncher(
  environment: Readonly<Record<string, string | undefined>>,
  channel: Channel = process,
): JoinedLauncher | null {
  const text = environment[LAUNCH_VARIABLE];
  if (text === undefined || text === '' || !channel.connected) return null;
  const launch = JSON.parse(text) as Launch;
  const stopped = new AbortController();
  const waiting: ((fault: string | null) => void)[] = [];
  channel.on('message', (message: FromLauncher) => {
    if (message.type === 'answer') waiting.shift()?.(message.fault);
    else if (stopped.signal.aborted) channel.exit(CRASHED);
    else stopped.abort('its launcher stops it');
  });
  channel.on('disconnect', () => {
    stopped.abort('its launcher has gone');
    for (const answer of waiting.splice(0)) answer('the launcher has gone');
  });
  const ask = (message: ToLauncher) =>
    new Promise<string | null>((answer) => {
      waiting.push(answer);
      channel.send?.(message, (error: Error | null) => {
        if (error) answer(`the launcher cannot be reached: ${error.message}`);
      });
    });
  return {
    launch,
    stopSignal: stopped.signal,
    tryVersion: (name, livenessUrl, again) => ask({ type: 'try', name, livenessUrl, again }),
    proven: () => ask({ type: 'proven' }),
  };
}
