import type { TokenRole } from '../../core/access.js';
import type { PersonalTokenRecord } from '../../core/ports/personal-tokens.js';

export interface PersonalTokenRow {
  readonly id: string;
  readonly username: string;
  readonly name: string;
  readonly role: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly last_used_at: number | null;
}

export function tokenOfRow(row: PersonalTokenRow): PersonalTokenRecord {
  return {
    id: row.id,
    username: row.username,
    name: row.name,
    role: row.role as TokenRole,
    createdAtMs: row.created_at,
    expiresAtMs: row.expires_at,
    lastUsedAtMs: row.last_used_at,
  };
}
