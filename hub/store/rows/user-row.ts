import type { Role } from '../../core/access.js';
import type { UserRecord, UserSource } from '../../core/ports/accounts.js';

/** `Flag` is the type of a truth value in the database. */
export interface UserRow<Flag extends boolean | number> {
  readonly username: string;
  readonly password_hash: string;
  readonly roles: string;
  readonly disabled: Flag;
  readonly source: string;
  readonly created_at: number;
}

/** Roles in a column, separated by commas. */
export function rolesOf(column: string): readonly Role[] {
  return column === '' ? [] : (column.split(',') as Role[]);
}

export function userOfRow(row: UserRow<boolean | number>): UserRecord {
  return {
    username: row.username,
    passwordHash: row.password_hash,
    roles: rolesOf(row.roles),
    disabled: Boolean(row.disabled),
    source: row.source as UserSource,
    createdAtMs: row.created_at,
  };
}
