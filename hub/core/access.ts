/** Roles and what they permit (contract 8.7). `http/requests/access-table.ts` gives each endpoint its role. */
import { HubError } from './errors.js';

/** Each role includes those before it. */
export const ROLES = ['VIEWER', 'USER', 'ADMIN'] as const;
export type Role = (typeof ROLES)[number];

/** Highest rights of a personal token: a role, or reading the metrics and nothing else. */
export const TOKEN_ROLES = [...ROLES, 'METRICS'] as const;
export type TokenRole = (typeof TOKEN_ROLES)[number];

/** The user or program behind a request. */
export interface Caller {
  /** `anonymous` while security is off. */
  readonly username: string;
  readonly roles: readonly Role[];
  /** METRICS: may read the metrics, without a role. */
  readonly scope?: 'METRICS';
  /** Means of authentication. OPEN_HUB: none, since security is off. */
  readonly by: 'OPEN_HUB' | 'SESSION' | 'PERSONAL_TOKEN' | 'SIGN_ON';
  /** Id of the personal access token, if it is one. */
  readonly tokenId?: string;
}

/** Every caller while security is off. */
export const ANYBODY: Caller = { username: 'anonymous', roles: ['ADMIN'], by: 'OPEN_HUB' };

/** Whether the caller has this role, or a higher one. */
export function holdsRole({ roles }: Pick<Caller, 'roles'>, role: Role): boolean {
  return roles.some((held) => ROLES.indexOf(held) >= ROLES.indexOf(role));
}

/** Throws FORBIDDEN unless the caller holds the role or a higher one. */
export function refuseWithoutRole(caller: Caller, role: Role): void {
  if (holdsRole(caller, role)) return;
  throw new HubError('FORBIDDEN', `this requires the role ${role}; ${heldBy(caller)}`);
}

/** Throws FORBIDDEN unless the caller is an ADMIN or has a token for the metrics. */
export function refuseMetrics(caller: Caller): void {
  if (caller.scope !== 'METRICS') refuseWithoutRole(caller, 'ADMIN');
}

function heldBy({ username, roles, scope }: Caller): string {
  if (scope === 'METRICS') return `this token of ${username} reads the metrics only`;
  return `${username} has ${roles.length === 0 ? 'no role' : roles.join(', ')}`;
}

/** Creator of the tasks of this caller; null while security is off. */
export function creatorOf({ username, by }: Caller): string | null {
  return by === 'OPEN_HUB' ? null : username;
}

/** Whether the task is the caller's own, or the caller an ADMIN. */
export function mayChangeTask(caller: Caller, { creator }: { readonly creator: string | null }): boolean {
  return holdsRole(caller, 'ADMIN') || creator === caller.username;
}

/** Throws FORBIDDEN unless the task is the caller's own, or the caller an ADMIN. */
export function refuseForeignTask(
  caller: Caller,
  { id, creator }: { id: string; creator: string | null },
): void {
  if (mayChangeTask(caller, { creator })) return;
  throw new HubError('FORBIDDEN', `task ${id} is not yours: only its creator and the role ADMIN may do this`);
}
