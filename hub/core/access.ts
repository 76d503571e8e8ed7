/** Who may do what (contract 8.7). Which endpoint asks for which role stands in `http/access-table.ts`. */
import { HubError } from './errors.js';

/** Each may do what those before it may. */
export const ROLES = ['VIEWER', 'USER', 'ADMIN'] as const;
export type Role = (typeof ROLES)[number];

/** Who calls, as far as it is known. */
export interface Caller {
  /** `anonymous` while security is off. */
  readonly username: string;
  readonly roles: readonly Role[];
  /** How it showed who it is. OPEN_HUB: security is off, so nobody was asked. */
  readonly by: 'OPEN_HUB' | 'SESSION' | 'PERSONAL_TOKEN' | 'SIGN_ON';
}

/** Everybody, while security is off. */
export const ANYBODY: Caller = { username: 'anonymous', roles: ['ADMIN'], by: 'OPEN_HUB' };

export function holdsRole({ roles }: Pick<Caller, 'roles'>, role: Role): boolean {
  return roles.some((held) => ROLES.indexOf(held) >= ROLES.indexOf(role));
}

/** Throws FORBIDDEN unless the caller holds the role, or a greater one. */
export function refuseWithoutRole(caller: Caller, role: Role): void {
  if (holdsRole(caller, role)) return;
  const held = caller.roles.length === 0 ? 'no role' : caller.roles.join(', ');
  throw new HubError('FORBIDDEN', `this takes the role ${role}; ${caller.username} has ${held}`);
}

/** The name that a task of this caller carries; null while security is off. */
export function creatorOf({ username, by }: Caller): string | null {
  return by === 'OPEN_HUB' ? null : username;
}

/** Throws FORBIDDEN unless the task is the caller's own, or the caller an ADMIN. */
export function refuseForeignTask(
  caller: Caller,
  { id, creator }: { id: string; creator: string | null },
): void {
  if (holdsRole(caller, 'ADMIN') || creator === caller.username) return;
  throw new HubError('FORBIDDEN', `task ${id} is not yours: only its creator and the role ADMIN may do this`);
}
