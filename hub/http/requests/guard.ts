/** Identification and authorization of the caller of an endpoint. */
import { ANYBODY, type Caller, refuseMetrics, refuseWithoutRole } from '../../core/access.js';
import type { AuthenticatorChain } from '../../engine/accounts/authenticator-chain.js';
import type { Access } from './access-table.js';

/** Returns the caller. Throws UNAUTHENTICATED and FORBIDDEN; `identified` is called first, also for a caller whose role does
 *  not suffice. With `admittedAtMs`, checks a caller who was admitted then again: user, session, token and role must still be
 *  valid, but the token may have expired since. */
export type Guard = (
  access: Access,
  authorization: string | undefined,
  identified: (caller: Caller) => void,
  admittedAtMs?: number,
) => Caller | Promise<Caller>;

/** Guard while security is off. */
export const openGuard: Guard = () => ANYBODY;

export function guardWith(authenticators: AuthenticatorChain): Guard {
  const admit = async (
    access: Exclude<Access, 'OPEN'>,
    authorization: string | undefined,
    identified: (caller: Caller) => void,
    admittedAtMs: number | undefined,
  ) => {
    const caller = await authenticators.identify(authorization, admittedAtMs);
    identified(caller);
    if (access === 'METRICS') refuseMetrics(caller);
    else refuseWithoutRole(caller, access);
    return caller;
  };
  return (access, authorization, identified, admittedAtMs) =>
    access === 'OPEN' ? ANYBODY : admit(access, authorization, identified, admittedAtMs);
}
