/** Keeps the agent joined to a hub: retries for ever, one address after the other, with growing backoff, and moves to another hub on
 *  request. */
import { type BackOff, backOff } from '../runtime/back-off.js';
import type { Logger } from '../runtime/logger.js';
import { pause } from '../runtime/pause.js';
import type { Runtime } from '../runtime/runtime.js';
import type { Service } from '../runtime/service.js';
import { HubAddresses } from './hub-addresses.js';
import { type Hub, type HubConnection, type HubListener, JoinFailed, type MoveRequest } from './ports/hub.js';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;
/** Longest pause after a connection that has ended soon: hubs that restart again and again get their agents back, but are not flooded. */
const LONGEST_BRIEF_PAUSE_MS = 2000;
/** Duration after which a connection counts as stable. */
const STEADY_AFTER_MS = 10_000;
/** Number of equal failures between two log lines. */
const LOG_EVERY = 40;

/** The parts of the agent that hear of a hub. */
export type SessionListener = Omit<HubListener, 'onConnected' | 'onHubs' | 'onMove'>;

/** State of the session, for operators. */
export interface SessionState {
  /** The connection; null while no hub is joined. */
  readonly joined: { readonly address: string; readonly sinceMs: number } | null;
  /** Reasons of the latest failures to join, of each address; null while a hub is joined, and before the first failure. */
  readonly failure: string | null;
}

/** A hub that was left, as the log names it. */
interface Leaving {
  readonly left: string;
  readonly reason: string;
}

/** A move from one hub to another. */
interface Move {
  /** Address of the last hub that was joined, when its connection has ended; null when none was joined. */
  readonly ended: Promise<string | null>;
}

export interface HubSessionOptions {
  readonly runtime: Runtime;
  readonly log: Logger;
  /** Called when a hub refuses the token or credential, with the time since the first refusal after which no hub was joined. */
  readonly onUnauthorized?: ((forMs: number) => void) | undefined;
}

export class HubSession implements Service {
  readonly name = 'hub session';
  readonly #hub: Hub;
  readonly #addresses: HubAddresses;
  readonly #listener: SessionListener;
  readonly #runtime: Runtime;
  readonly #onUnauthorized: HubSessionOptions['onUnauthorized'];
  readonly #log: Logger;
  /** Pauses while no hub answers. */
  readonly #pauses: BackOff;
  /** Pauses after connections that end soon. */
  readonly #briefPauses: BackOff;
  readonly #stopped = new AbortController();
  #connection: HubConnection | null = null;
  #joinedAtMs = 0;
  #state: SessionState = { joined: null, failure: null };
  #isOutputStorageOn = false;
  /** Monotonic time of the first refusal of the credential since a hub was joined; undefined for none. */
  #unauthorizedSinceMs: number | undefined;
  #waiting: ((connection: HubConnection) => void)[] = [];
  #running: Promise<void> = Promise.resolve();
  /** Latest failure of each address, and how often it occurred in a row. */
  readonly #failures = new Map<string, { readonly reason: string; readonly times: number }>();
  /** The move that the current connection was asked for. */
  #move: Move | null = null;

  constructor(hub: Hub, listener: SessionListener, { runtime, log, onUnauthorized }: HubSessionOptions) {
    this.#hub = hub;
    this.#addresses = new HubAddresses(hub.addresses, hub.nodeId);
    this.#runtime = runtime;
    this.#log = log;
    this.#pauses = backOff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, runtime.random);
    this.#briefPauses = backOff(FIRST_PAUSE_MS, LONGEST_BRIEF_PAUSE_MS, runtime.random);
    this.#listener = listener;
    this.#onUnauthorized = onUnauthorized;
  }

  /** Connection to the joined hub. */
  get connection(): HubConnection | null {
    return this.#connection;
  }

  get state(): SessionState {
    return this.#state;
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
    let left: string | null = null;
    while (!signal.aborted) {
      let pauses = this.#pauses;
      // Other hubs of the cluster are tried at once; the backoff is between rounds, and after a lost connection.
      for (const address of this.#addresses.round(left)) {
        const last = await this.#follow(this.#join(address));
        if (signal.aborted) return;
        if (last === null) continue;
        left = last;
        pauses = this.#briefPauses;
        break;
      }
      await pause(this.#runtime.timers, pauses.nextMs(), signal).catch(() => undefined);
    }
  }

  /** Waits for the end of a connection, and of those to which the agent moves. Resolves with the address of the last hub that was
   *  joined, or null. */
  async #follow(joining: Promise<string | null>): Promise<string | null> {
    let last = await joining;
    while (this.#move !== null) {
      const { ended } = this.#move;
      this.#move = null;
      last = (await ended) ?? last;
    }
    return last;
  }

  /** Tries once. Resolves with the address when the joined connection has ended, or with null when the hub was not joined. */
  async #join(
    address: string,
    leaving: Leaving | null = null,
    leave?: () => Promise<void>,
  ): Promise<string | null> {
    const { signal } = this.#stopped;
    let joined: HubConnection | undefined;
    try {
      const listener: HubListener = {
        ...this.#listener,
        ...(leave && { onConnected: leave }),
        onJoined: (connection) => {
          joined = connection;
          this.#log.info({ hub: address, ...leaving }, 'joined the hub');
          this.#onJoined(address, connection);
        },
        onHubs: (addresses) => this.#learn(address, addresses),
        onMove: (request) => {
          if (joined && !joined.ended.aborted) this.#onMove(address, joined, request);
        },
      };
      const reason = await this.#hub.join(address, listener, signal);
      this.#ended(address, reason);
      return address;
    } catch (error) {
      if (signal.aborted) return null;
      if (error instanceof JoinFailed) {
        this.#logFailure(address, error.message);
        if (error.isUnauthorized) this.#unauthorized();
      } else
        this.#log.error(
          { err: error, hub: address },
          'joining the hub failed because of a defect of this program',
        );
      return null;
    }
  }

  #unauthorized(): void {
    const nowMs = this.#runtime.clock.monotonicMs();
    this.#unauthorizedSinceMs ??= nowMs;
    this.#onUnauthorized?.(nowMs - this.#unauthorizedSinceMs);
  }

  #ended(address: string, reason: string): void {
    // A hub that was left for another is named in the line about that one.
    if (!this.#stopped.signal.aborted && this.#move === null)
      this.#log.warn({ hub: address, reason }, 'the connection to the hub has ended');
    const lastedMs = this.#runtime.clock.monotonicMs() - this.#joinedAtMs;
    if (lastedMs >= STEADY_AFTER_MS) this.#briefPauses.reset();
  }

  #learn(from: string, told: readonly string[]): void {
    const refused = this.#addresses.learn(from, told);
    if (refused.length === 0) return;
    this.#log.warn(
      { hub: from, refused },
      'addresses of other hubs are not used: they must be addresses of hubs with the same scheme',
    );
  }

  #onMove(from: string, connection: HubConnection, request: MoveRequest): void {
    if (this.#move !== null || this.#stopped.signal.aborted) return;
    const move: Move = {
      ended: this.#moveFrom(from, connection, request).finally(() => {
        if (this.#move === move) this.#move = null;
      }),
    };
    this.#move = move;
  }

  /** Joins another hub, if one accepts a connection; this one is left only then. Never rejects. */
  async #moveFrom(
    from: string,
    connection: HubConnection,
    { reason, to }: MoveRequest,
  ): Promise<string | null> {
    let hasLeft = false;
    const leave = () => {
      hasLeft = true;
      return connection.leave();
    };
    for (const address of this.#addresses.movesFrom(from, to)) {
      const last = await this.#join(address, { left: from, reason }, leave);
      if (last !== null || hasLeft || this.#stopped.signal.aborted) return last;
    }
    this.#log.warn({ hub: from, reason }, 'the hub wants this agent to move, but no other hub can be joined');
    return null;
  }

  #onJoined(address: string, connection: HubConnection): void {
    this.#connection = connection;
    this.#state = { joined: { address, sinceMs: this.#runtime.clock.nowMs() }, failure: null };
    this.#isOutputStorageOn = connection.isOutputStorageOn;
    this.#joinedAtMs = this.#runtime.clock.monotonicMs();
    this.#failures.clear();
    this.#unauthorizedSinceMs = undefined;
    this.#pauses.reset();
    connection.ended.addEventListener('abort', () => {
      if (this.#connection !== connection) return;
      this.#connection = null;
      this.#state = { joined: null, failure: null };
    });
    this.#listener.onJoined(connection);
    for (const resolve of this.#waiting.splice(0)) resolve(connection);
  }

  /** Latest failures of all addresses. */
  #failuresInWords(): string {
    const reasons = [...this.#failures];
    if (reasons.length === 1) return reasons[0]?.[1].reason ?? '';
    return reasons.map(([address, { reason }]) => `${address}: ${reason}`).join('; ');
  }

  /** Throttled: a hub may be away for days. */
  #logFailure(address: string, reason: string): void {
    const last = this.#failures.get(address);
    const times = last?.reason === reason ? last.times + 1 : 1;
    this.#failures.set(address, { reason, times });
    if (this.#connection === null) this.#state = { joined: null, failure: this.#failuresInWords() };
    if (times === 1) this.#log.warn({ hub: address }, `not joined: ${reason}; trying again`);
    else if (times % LOG_EVERY === 0) {
      this.#log.warn({ hub: address, tries: times }, `still not joined: ${reason}; trying again`);
    }
  }
}
