/** The open connections of agents at a server: what concerns all of them. */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { periodicLoop } from '@workbench-hub/shared/runtime/loop';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AgentCredentials } from '../engine/accounts/agent-credentials.js';
import type { ServedConnection } from './connection.js';

export interface OpenConnectionsOptions {
  readonly credentials: Pick<AgentCredentials, 'version'>;
  /** Whether agents may join now; by default always. */
  readonly isReady?: () => boolean;
  /** Addresses at which agents reach the other hubs of the cluster; by default, the hub is alone. */
  readonly otherHubs?: () => readonly string[];
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** Interval of the checks for revoked credentials and for changed addresses of other hubs. */
const CHECK_MS = 2000;

/** Time after which a hub that is not ready asks its agents to join others, and interval in which it asks again. Soon enough for
 *  them to have left when the other hubs take this one for gone. */
const NOT_READY_LIMIT_MS = 8000;

export class OpenConnections {
  readonly #options: OpenConnectionsOptions;
  readonly #connections = new Set<ServedConnection>();
  /** Version of the credentials that was checked last. */
  #checkedVersion: string | undefined;
  #toldHubs: readonly string[] = [];
  #notReadySinceMs: number | undefined;
  #onEnd: () => void = () => undefined;

  constructor(options: OpenConnectionsOptions) {
    this.#options = options;
  }

  add(connection: ServedConnection): void {
    this.#connections.add(connection);
  }

  delete(connection: ServedConnection): void {
    this.#connections.delete(connection);
    this.#onEnd();
  }

  /** Asks the agents to join other hubs, if any are known. Resolves when all that could be asked have left, or after `limitMs`. */
  async moveAll(reason: string, limitMs: number): Promise<void> {
    if (this.#otherHubs().length === 0) return;
    const asked = [...this.#connections].filter((connection) => connection.move(reason));
    await new Promise<void>((resolve) => {
      const limit = this.#options.runtime.timers.after(limitMs, resolve);
      this.#onEnd = () => {
        if (asked.some((connection) => this.#connections.has(connection))) return;
        limit.cancel();
        resolve();
      };
      this.#onEnd();
    });
  }

  /** Ends connections soon after their credential was revoked, by whichever process, tells agents of changed addresses, and asks them to
   *  join other hubs while this one is not ready. Returns a function that stops the checks. */
  watch(): () => void {
    // The check of the credentials waits for a store that is away.
    const stops = [
      this.#repeat(() => this.#endRevoked()),
      this.#repeat(async () => {
        this.#tellHubs();
        this.#moveWhileNotReady();
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  #repeat(check: () => Promise<void>): () => void {
    const loop = periodicLoop(CHECK_MS, { timers: this.#options.runtime.timers, pass: check });
    loop.start(CHECK_MS);
    return () => void loop.stop();
  }

  #moveWhileNotReady(): void {
    const { isReady, runtime, log } = this.#options;
    if (isReady?.() !== false) {
      this.#notReadySinceMs = undefined;
      return;
    }
    const nowMs = runtime.clock.monotonicMs();
    this.#notReadySinceMs ??= nowMs;
    const isOver = nowMs - this.#notReadySinceMs >= NOT_READY_LIMIT_MS;
    if (!isOver || this.#otherHubs().length === 0) return;
    this.#notReadySinceMs = nowMs;
    const asked = [...this.#connections].filter((connection) => connection.move('the hub is not ready'));
    if (asked.length > 0)
      log.warn({ agents: asked.length }, 'the hub is not ready: it asks its agents to join other hubs');
  }

  #tellHubs(): void {
    const hubs = this.#otherHubs();
    if (isDeepStrictEqual(hubs, this.#toldHubs)) return;
    this.#toldHubs = [...hubs];
    for (const connection of this.#connections) connection.tellHubs();
  }

  async #endRevoked(): Promise<void> {
    const { credentials, log } = this.#options;
    try {
      // Read first: a change during the checks is found by the next one.
      const version = await credentials.version();
      if (version === this.#checkedVersion) return;
      await Promise.all([...this.#connections].map((connection) => connection.endIfRevoked()));
      this.#checkedVersion = version;
    } catch (error) {
      log.error({ err: error }, 'the check for revoked credentials of agents failed');
    }
  }

  #otherHubs(): readonly string[] {
    return this.#options.otherHubs?.() ?? [];
  }
}
