/** Keeps the agent joined to a hub: retries for ever, one address after the other, with growing backoff. */
import { type BackOff, backOff } from '@workbench-hub/shared/runtime/back-off';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Service } from '@workbench-hub/shared/runtime/service';
import { type Hub, type HubConnection, type HubListener, JoinFailed } from '../core/ports/hub.js';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;
/** Duration after which a connection counts as stable and resets the backoff. */
const STEADY_AFTER_MS = 10_000;
/** Number of equal failures between two log lines. */
const LOG_EVERY = 40;

export class HubSession implements Service {
  readonly name = 'hub session';
  readonly #hub: Hub;
  readonly #listener: HubListener;
  readonly #runtime: Runtime;
  readonly #log: Logger;
  readonly #pauses: BackOff;
  readonly #stopped = new AbortController();
  #connection: HubConnection | null = null;
  #joinedAtMs = 0;
  #isOutputStorageOn = false;
  #waiting: ((connection: HubConnection) => void)[] = [];
  #running: Promise<void> = Promise.resolve();
  /** Latest failure of each address, and how often it occurred in a row. */
  readonly #failures = new Map<string, { readonly reason: string; readonly times: number }>();

  constructor(hub: Hub, listener: HubListener, { runtime, log }: { runtime: Runtime; log: Logger }) {
    this.#hub = hub;
    this.#runtime = runtime;
    this.#log = log;
    this.#pauses = backOff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, runtime.random);
    this.#listener = listener;
  }

  /** Connection to the joined hub. */
  get connection(): HubConnection | null {
    return this.#connection;
  }

  /** Whether the hub accepts files for its output storage, according to the latest welcome. */
  get isOutputStorageOn(): boolean {
    return this.#isOutputStorageOn;
  }

  /** Connection to the joined hub, or to the next one; rejects with the signal's reason. */
  connected(signal: AbortSignal): Promise<HubConnection> {
    if (this.#connection) return Promise.resolve(this.#connection);
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting = this.#waiting.filter((waiting) => waiting !== onConnection);
        reject(signal.reason);
      };
      const onConnection = (connection: HubConnection) => {
        signal.removeEventListener('abort', onAbort);
        resolve(connection);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(onConnection);
    });
  }

  /** Begins to join in the background. */
  start(): Promise<void> {
    this.#running = this.#stayJoined();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error('the agent is stopping'));
    await this.#connection?.close('the agent is stopping');
    await this.#running;
  }

  async #stayJoined(): Promise<void> {
    const { signal } = this.#stopped;
    const { addresses } = this.#hub;
    for (let next = 0; !signal.aborted; ) {
      const address = addresses[next] as string;
      const joined = await this.#join(address, signal);
      if (signal.aborted) return;
      if (!joined) next = (next + 1) % addresses.length;
      // Other hubs of the cluster are tried at once; the backoff is between rounds, and after a lost connection.
      if (joined || next === 0) {
        await pause(this.#runtime.timers, this.#pauses.nextMs(), signal).catch(() => undefined);
      }
    }
  }

  /** Tries once; resolves with true when it joined the hub. */
  async #join(address: string, signal: AbortSignal): Promise<boolean> {
    try {
      const listener: HubListener = {
        ...this.#listener,
        onJoined: (connection) => {
          this.#log.info({ hub: address }, 'joined the hub');
          this.#onJoined(connection);
        },
      };
      const reason = await this.#hub.join(address, listener, signal);
      this.#connection = null;
      if (!signal.aborted) this.#log.warn({ hub: address, reason }, 'the connection to the hub has ended');
      const lastedMs = this.#runtime.clock.monotonicMs() - this.#joinedAtMs;
      if (lastedMs >= STEADY_AFTER_MS) this.#pauses.reset();
      return true;
    } catch (error) {
      this.#connection = null;
      if (signal.aborted) return false;
      if (error instanceof JoinFailed) this.#logFailure(address, error.message);
      else
        this.#log.error(
          { err: error, hub: address },
          'joining the hub failed because of a defect of this program',
        );
      return false;
    }
  }

  #onJoined(connection: HubConnection): void {
    this.#connection = connection;
    this.#isOutputStorageOn = connection.isOutputStorageOn;
    this.#joinedAtMs = this.#runtime.clock.monotonicMs();
    this.#failures.clear();
    connection.ended.addEventListener('abort', () => {
      if (this.#connection === connection) this.#connection = null;
    });
    this.#listener.onJoined(connection);
    for (const resolve of this.#waiting.splice(0)) resolve(connection);
  }

  /** Throttled: a hub may be away for days. */
  #logFailure(address: string, reason: string): void {
    const last = this.#failures.get(address);
    const times = last?.reason === reason ? last.times + 1 : 1;
    this.#failures.set(address, { reason, times });
    if (times === 1) this.#log.warn({ hub: address }, `not joined: ${reason}; trying again`);
    else if (times % LOG_EVERY === 0) {
      this.#log.warn({ hub: address, tries: times }, `still not joined: ${reason}; trying again`);
    }
  }
}
