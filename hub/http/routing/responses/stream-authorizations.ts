import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { EventConnection } from './event-stream.js';

/** Time for which an authorization counts without being checked again. */
const AUTHORIZED_FOR_MS = 1000;

/** The latest check of a token, for all streams that were opened with it. */
interface Check {
  atMs: number;
  may: Promise<boolean>;
  streams: number;
}

/** Checks whether streams may go on, once for all connections of a session. A token is forgotten with its last stream. */
export class StreamAuthorizations {
  readonly #clock: Clock;
  readonly #checks = new Map<string, Check>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The check of a connection, which counts until it is closed. */
  of(connection: EventConnection): () => Promise<boolean> {
    const token = connection.authorization ?? '';
    const check = this.#checks.get(token) ?? {
      atMs: Number.NEGATIVE_INFINITY,
      may: NEVER_CHECKED,
      streams: 0,
    };
    this.#checks.set(token, check);
    check.streams++;
    connection.onClosed(() => {
      check.streams--;
      if (check.streams === 0) this.#checks.delete(token);
    });
    return () => {
      const nowMs = this.#clock.monotonicMs();
      if (nowMs - check.atMs >= AUTHORIZED_FOR_MS) {
        check.atMs = nowMs;
        check.may = isStillAuthorized(connection);
      }
      return check.may;
    };
  }
}

const NEVER_CHECKED = Promise.resolve(false);

async function isStillAuthorized(connection: EventConnection): Promise<boolean> {
  try {
    await connection.reauthorize();
    return true;
  } catch {
    return false;
  }
}
