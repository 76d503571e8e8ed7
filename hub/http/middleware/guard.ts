/** At the door of every endpoint: who is it, and may they? */
import { ANYBODY, type Caller, refuseWithoutRole } from '../../core/access.js';
import type { AuthenticatorChain } from '../../engine/accounts/authenticator-chain.js';
import type { Access } from './access-table.js';

/** Gives who calls. Throws UNAUTHENTICATED and FORBIDDEN; `identified` hears who it is before that is told. With
 *  `admittedAtMs`, looks again at a caller who was let in then: whether the user, the session, the token and the role are
 *  still good. A token that has merely expired since then is. */
export type Guard = (
  access: Access,
  authorization: string | undefined,
  identified: (caller: Caller) => void,
  admittedAtMs?: number,
) => Caller | Promise<Caller>;

/** While security is off. */
export const agentAuthenticator: Guard = () => ANYBODY;

export function guardWith(callers: AuthenticatorChain): Guard {
  const admit = async (
    role: Exclude<Access, 'OPEN'>,
    authorization: string | undefined,
    identified: (caller: Caller) => void,
    admittedAtMs: number | undefined,
  ) => {
    const caller = await callers.identify(authorization, admittedAtMs);
    identified(caller);
    refuseWithoutRole(caller, role);
    return caller;
  };
  return (access, authorization, identified, admittedAtMs) =>
    access === 'OPEN' ? ANYBODY : admit(access, authorization, identified, admittedAtMs);
}
