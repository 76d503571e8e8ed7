/** Finds out whether somebody who logs in knows the password of a user, without telling more than that. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import type { Passwords, UserRecord, UserStore } from '../../core/ports/accounts.js';
import type { LoginMetrics } from '../../core/ports/metrics.js';
import { LoginAddresses, placeOf } from './login-addresses.js';
import { LoginQueue } from './login-queue.js';
import { LoginThrottle } from './login-throttle.js';

/** Who logs in, with the password that was checked: by the time that this is known, it may be another. */
export type CheckedUser = Pick<UserRecord, 'username' | 'passwordHash'>;

/** From where somebody logs in. */
export interface LoginOrigin {
  /** IPv4 or IPv6, through the trusted proxies; empty when it is not known. */
  readonly address: string;
  /** Says that nobody waits for the answer any more. */
  readonly client: { readonly aborted: boolean };
}

export interface PasswordCheck {
  /** Rejects with UNAUTHENTICATED and TOO_MANY_ATTEMPTS. */
  check(username: string, password: string, origin: LoginOrigin): Promise<CheckedUser>;
}

/** One answer for every reason, so that nobody learns which names there are. */
export function wrongPassword(): HubError {
  return new HubError('UNAUTHENTICATED', 'the username or the password is wrong, or the user is disabled');
}

/** While security is off: everybody is the same user, whatever they say. */
export function skipPassword(user: CheckedUser): PasswordCheck {
  return { check: async () => user };
}

/** The same check, which tells of the log-ins that fail. */
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
  readonly clock: Clock;
}

export async function passwordCheck({
  users,
  passwords,
  clock,
}: PasswordCheckOptions): Promise<PasswordCheck> {
  const names = new LoginThrottle(clock);
  // Whoever closes a name from elsewhere does not shut out its user where that logged in lately, and a password that is
  // guessed from there is counted there.
  const knownPairs = new LoginThrottle(clock);
  const places = new LoginAddresses(clock);
  const turns = new LoginQueue(clock);
  // An unknown name costs the same work as a known one; nobody knows the password of this hash.
  const nobodysHash = await passwords.hash('the password of nobody');

  const verify = async (username: string, password: string): Promise<UserRecord> => {
    const user = await users.find(username);
    const fits = await passwords.verify(password, user?.passwordHash ?? nobodysHash);
    if (!user || !fits || user.disabled) throw wrongPassword();
    return user;
  };

  return {
    check: async (username, password, { address, client }) => {
      const place = placeOf(address);
      const pair = `${place} ${username}`;
      const isKnown = places.has(username, place);
      const [throttle, key] = isKnown ? [knownPairs, pair] : [names, username];
      throttle.refuse(key);
      return turns.run({ username, place, isKnown, client }, async () => {
        throttle.begin(key);
        if (isKnown) names.note(username);
        const user = await verify(username, password);
        names.succeeded(username);
        knownPairs.succeeded(pair);
        places.add(username, place);
        return user;
      });
    },
  };
}
