import type { api } from '@workbench-hub/client';

export const USERS_KEY = ['users'];

/** Each role includes those before it. */
export const ROLES = ['VIEWER', 'USER', 'ADMIN'] as const;
export type Role = (typeof ROLES)[number];

/** The greatest role of the user, which includes the others. */
export function roleOf({ roles }: Pick<api.HubUser, 'roles'>): Role | undefined {
  return ROLES.findLast((role) => roles.includes(role));
}
