/** Throttle against password guessing: after a number of consecutive failures for a key within a period, logins by
 *  that key are refused for a while, even with the right password, whose different response would reveal it. */
import { HubError } from '../../core/errors.js';
import type { LoginRecords } from '../../core/ports/login-records.js';

export class LoginThrottle {
  readonly #records: Pick<LoginRecords, 'begin' | 'delayMs'>;

  constructor(records: Pick<LoginRecords, 'begin' | 'delayMs'>) {
    this.#records = records;
  }

  /** Counts an attempt as failed until it succeeds. Rejects with TOO_MANY_ATTEMPTS while the key is blocked. */
  async begin(key: string): Promise<void> {
    refuseFor(await this.#records.begin(key));
  }

  /** Counts an attempt that begins even when the key is blocked. Attempts beyond the limit are not
   *  counted and do not prolong the block. */
  async note(key: string): Promise<void> {
    await this.#records.begin(key);
  }

  /** Rejects with TOO_MANY_ATTEMPTS while the key is blocked. */
  async refuse(key: string): Promise<void> {
    refuseFor(await this.#records.delayMs(key));
  }
}

function refuseFor(delayMs: number): void {
  if (delayMs <= 0) return;
  const retryAfterS = Math.max(1, Math.ceil(delayMs / 1000));
  throw new HubError(
    'TOO_MANY_ATTEMPTS',
    `too many attempts to log in by this name: try again in ${retryAfterS} s`,
    { retryAfterS },
  );
}
