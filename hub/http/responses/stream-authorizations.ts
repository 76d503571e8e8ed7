import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { EventConnection } from './event-stream.js';

/** Time for which an authorization counts without being checked again. */
const AUTHORIZED_FOR_MS = 1000;

/** Checks whether streams may go on, once for all connections of a session. */
export class StreamAuthorizations {
  readonly #clock: Clock;
  readonly #checked = new Map<string | undefined, { atMs: number; may: Promise<boolean> }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  check(connection: EventConnection): Promise<boolean> {
    const { authorization } = connection;
    const nowMs = this.#clock.monotonicMs();
    const known = this.#checked.get(authorization);
    if (known && nowMs - known.atMs < AUTHORIZED_FOR_MS) return known.may;
    const may = isStillAuthorized(connection);
    this.#checked.set(authorization, { atMs: nowMs, may });
    return may;
  }

  /** Forgets all checks; nobody listens. */
  forget(): void {
    this.#checked.clear();
  }
}

async function isStillAuthorized(connection: EventConnection): Promise<boolean> {
  try {
    await connection.reauthorize();
    return true;
  } catch {
    return false;
  }
}
