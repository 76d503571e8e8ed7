/** Finds out whether somebody who logs in knows the password of a user, without telling more than that. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import pLimit from 'p-limit';
import { HubError } from '../../core/errors.js';
import type { Passwords, UserRecord, UserStore } from '../../core/ports/accounts.js';
import type { LogInMetrics } from '../../core/ports/metrics.js';
import { LoginThrottle } from './login-throttle.js';

/** Who logs in, with the password that was checked: by the time that this is known, it may be another. */
export type CheckedUser = Pick<UserRecord, 'username' | 'passwordHash'>;

export interface PasswordCheck {
  /** Rejects with UNAUTHENTICATED and TOO_MANY_ATTEMPTS. */
  check(username: string, password: string): Promise<CheckedUser>;
}

/** One answer for every reason, so that nobody learns which names there are. */
export function wrongPassword(): HubError {
  return new HubError('UNAUTHENTICATED', 'the username or the password is wrong, or the user is disabled');
}

/** While security is off: everybody is the same user, whatever they say. */
export function anyPassword(user: CheckedUser): PasswordCheck {
  return { check: async () => user };
}

/** The same check, which tells of the log-ins that fail. */
export function watched(check: PasswordCheck, metrics: LogInMetrics): PasswordCheck {
  return {
    check: async (username, password) => {
      try {
        return await check.check(username, password);
      } catch (error) {
        const code = error instanceof HubError ? error.code : undefined;
        if (code === 'UNAUTHENTICATED') metrics.failed('REFUSED');
        else if (code === 'TOO_MANY_ATTEMPTS') metrics.failed('THROTTLED');
        throw error;
      }
    },
  };
}

/** A check takes a tenth of a second of a core and 32 MiB; half of Node's threads stay free for files. */
const AT_ONCE = 2;

/** So many more may wait, some seconds. */
const MAX_WAITING = 50;

const BUSY_RETRY_AFTER_S = 1;

export interface PasswordCheckOptions {
  readonly users: UserStore;
  readonly passwords: Passwords;
  readonly clock: Clock;
}

export async function passwordCheck({
  users,
  passwords,
  clock,
}: PasswordCheckOptions): Promise<PasswordCheck> {
  const throttle = new LoginThrottle(clock);
  const limit = pLimit(AT_ONCE);
  // An unknown name costs the same work as a known one; nobody knows the password of this hash.
  const nobodysHash = await passwords.hash('the password of nobody');

  const attempt = async (username: string, password: string): Promise<CheckedUser> => {
    throttle.begin(username);
    const user = await users.find(username);
    const fits = await passwords.verify(password, user?.passwordHash ?? nobodysHash);
    if (!user || !fits || user.disabled) throw wrongPassword();
    throttle.succeeded(username);
    return user;
  };

  return {
    check: async (username, password) => {
      throttle.refuse(username);
      if (limit.pendingCount >= MAX_WAITING) {
        throw new HubError('TOO_MANY_ATTEMPTS', 'too many log in at this moment: try again in a second', {
          retryAfterS: BUSY_RETRY_AFTER_S,
        });
      }
      return limit(attempt, username, password);
    },
  };
}
