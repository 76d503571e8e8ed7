/** Password check that reveals nothing but its result. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import type { Passwords, UserRecord, UserStore } from '../../core/ports/accounts.js';
import type { LoginRecords } from '../../core/ports/login-records.js';
import type { LoginMetrics } from '../../core/ports/metrics.js';
import { locationOf } from './login-locations.js';
import { LoginQueue } from './login-queue.js';
import { LoginThrottle } from './login-throttle.js';

/** The user and the checked password hash, which may have changed since. */
export type CheckedUser = Pick<UserRecord, 'username' | 'passwordHash'>;

/** Origin of a login. */
export interface LoginOrigin {
  /** Client address behind trusted proxies; empty when unknown. */
  readonly address: string;
  /** Aborted when the client no longer waits. */
  readonly client: { readonly aborted: boolean };
}

export interface PasswordCheck {
  /** Rejects with UNAUTHENTICATED and TOO_MANY_ATTEMPTS. */
  check(username: string, password: string, origin: LoginOrigin): Promise<CheckedUser>;
}

/** One message for every reason, so that it does not reveal which users exist. */
export function wrongPassword(): HubError {
  return new HubError('UNAUTHENTICATED', 'the username or the password is wrong, or the user is disabled');
}

/** Accepts everybody as the same user, while security is off. */
export function skipPassword(user: CheckedUser): PasswordCheck {
  return { check: async () => user };
}

/** Counts failed logins. */
export function watched(check: PasswordCheck, metrics: LoginMetrics): PasswordCheck {
  return {
    check: async (username, password, origin) => {
      try {
        return await check.check(username, password, origin);
      } catch (error) {
        const code = error instanceof HubError ? error.code : undefined;
        if (code === 'UNAUTHENTICATED') metrics.failed('REFUSED');
        else if (code === 'TOO_MANY_ATTEMPTS') metrics.failed('THROTTLED');
        throw error;
      }
    },
  };
}

export interface PasswordCheckOptions {
  readonly users: UserStore;
  readonly passwords: Passwords;
  readonly records: LoginRecords;
  readonly clock: Clock;
}

export async function passwordCheck({
  users,
  passwords,
  records,
  clock,
}: PasswordCheckOptions): Promise<PasswordCheck> {
  const throttle = new LoginThrottle(records);
  const turns = new LoginQueue(clock);
  // An unknown name takes the same time as a known one; this hash has no password.
  const hashOfNobody = await passwords.hash('the password of nobody');

  const verify = async (username: string, password: string): Promise<UserRecord> => {
    const user = await users.find(username);
    const fits = await passwords.verify(password, user?.passwordHash ?? hashOfNobody);
    if (!user || !fits || user.disabled) throw wrongPassword();
    return user;
  };

  return {
    check: async (username, password, { address, client }) => {
      const location = locationOf(address);
      // A user is not locked out at a known location by failures elsewhere, and guesses from there are counted there.
      const [name, pair] = [`name ${username}`, `pair ${location} ${username}`];
      const isKnown = await records.isKnown(username, location);
      const key = isKnown ? pair : name;
      await throttle.refuse(key);
      return turns.run({ username, location, isKnown, client }, async () => {
        await throttle.begin(key);
        if (isKnown) await throttle.note(name);
        const user = await verify(username, password);
        await records.succeeded(username, location, [name, pair]);
        return user;
      });
    },
  };
}
