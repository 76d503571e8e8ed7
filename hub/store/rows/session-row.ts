import type { RefreshState, UserSessions } from '../../core/ports/accounts.js';

export interface SessionRow {
  readonly id: string;
  readonly username: string;
  readonly started_at: number;
  readonly expires_at: number;
  readonly current_hash: string;
  readonly spent_hash: string | null;
  readonly spent_at: number;
  readonly turn_salt: string;
}

/** The sessions of a user, counted. */
export interface UserSessionsRow {
  readonly username: string;
  readonly count: number;
  readonly latest: number;
}

export function refreshStateOfRow(row: SessionRow): RefreshState {
  return {
    session: {
      id: row.id,
      username: row.username,
      startedAtMs: row.started_at,
      expiresAtMs: row.expires_at,
    },
    currentHash: row.current_hash,
    spent: row.spent_hash === null ? null : { hash: row.spent_hash, atMs: row.spent_at, salt: row.turn_salt },
  };
}

/** By username. */
export function sessionsOfRows(rows: readonly UserSessionsRow[]): ReadonlyMap<string, UserSessions> {
  return new Map(rows.map(({ username, count, latest }) => [username, { count, latestStartedAtMs: latest }]));
}
