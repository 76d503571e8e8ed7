import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { SessionRecord, SessionStore, Turn } from '../../../core/ports/accounts.js';
import type { SqliteDatabase } from '../database.js';
import { translatedWith } from './translated.js';
import { rolesOf } from './user-store.js';

/** So that logging in without end fills no disk. */
const MAX_SESSIONS_OF_USER = 10_000;

interface TokenRow {
  id: string;
  username: string;
  started_at: number;
  expires_at: number;
  spent: number;
}

export function sqliteSessionStore(db: SqliteDatabase, log: Logger | null): SessionStore {
  const translated = translatedWith(log);
  const insertSession = db.prepare<[string, number, number, string, string]>(`
    INSERT INTO session (id, username, started_at, expires_at)
    SELECT ?, username, ?, ? FROM user WHERE username = ? AND password_hash = ? AND disabled = 0`);
  const endOldest = db.prepare<[string]>(`
    DELETE FROM session WHERE id IN
      (SELECT id FROM session WHERE username = ? ORDER BY started_at DESC LIMIT -1 OFFSET ${MAX_SESSIONS_OF_USER})`);
  const insertToken = db.prepare<[string, string, number]>(
    'INSERT INTO refresh_token (hash, session_id, expires_at) VALUES (?, ?, ?)',
  );
  const selectHolder = db.prepare<[string, number], { username: string; roles: string }>(`
    SELECT user.username, user.roles FROM session JOIN user ON user.username = session.username
    WHERE session.id = ? AND session.expires_at > ? AND user.disabled = 0`);
  const selectToken = db.prepare<[string, number], TokenRow>(`
    SELECT session.*, refresh_token.spent FROM refresh_token
    JOIN session ON session.id = refresh_token.session_id
    JOIN user ON user.username = session.username
    WHERE refresh_token.hash = ? AND refresh_token.expires_at > ? AND user.disabled = 0`);
  const spend = db.prepare<[string]>('UPDATE refresh_token SET spent = 1 WHERE hash = ?');
  const extend = db.prepare<[number, string]>('UPDATE session SET expires_at = ? WHERE id = ?');
  const endSession = db.prepare<[string]>('DELETE FROM session WHERE id = ?');
  const sweepTokens = db.prepare<[number]>('DELETE FROM refresh_token WHERE expires_at <= ?');
  const sweepSessions = db.prepare<[number]>('DELETE FROM session WHERE expires_at <= ?');

  /** Most that is presented and is no token is found out without waiting for anybody's change. */
  const ifKnown = (refreshHash: string, nowMs: number, change: (row: TokenRow) => Turn): Promise<Turn> =>
    translated(() => {
      if (!selectToken.get(refreshHash, nowMs)) return { kind: 'UNKNOWN' };
      return db
        .transaction((): Turn => {
          const row = selectToken.get(refreshHash, nowMs);
          return row ? change(row) : { kind: 'UNKNOWN' };
        })
        .immediate();
    });

  return {
    open: ({ id, username, startedAtMs, expiresAtMs }, refreshHash, passwordHash) =>
      translated(() =>
        db
          .transaction(() => {
            const { changes } = insertSession.run(id, startedAtMs, expiresAtMs, username, passwordHash);
            if (changes === 0) return false;
            if (refreshHash !== null) insertToken.run(refreshHash, id, expiresAtMs);
            endOldest.run(username);
            return true;
          })
          .immediate(),
      ),
    holder: (sessionId, nowMs) =>
      translated(() => {
        const row = selectHolder.get(sessionId, nowMs);
        return row && { username: row.username, roles: rolesOf(row.roles) };
      }),
    turn: (refreshHash, nextHash, nowMs, expiresAtMs) =>
      ifKnown(refreshHash, nowMs, (row) => {
        if (row.spent !== 0) {
          endSession.run(row.id);
          return { kind: 'REUSED', session: recordOf(row) };
        }
        spend.run(refreshHash);
        insertToken.run(nextHash, row.id, expiresAtMs);
        extend.run(expiresAtMs, row.id);
        return { kind: 'TURNED', session: { ...recordOf(row), expiresAtMs } };
      }),
    end: (refreshHash, nowMs) =>
      ifKnown(refreshHash, nowMs, (row) => {
        endSession.run(row.id);
        return { kind: row.spent === 0 ? 'TURNED' : 'REUSED', session: recordOf(row) };
      }),
    sweep: (nowMs) =>
      translated(() =>
        db
          .transaction(() => {
            sweepTokens.run(nowMs);
            return sweepSessions.run(nowMs).changes;
          })
          .immediate(),
      ),
  };
}

function recordOf(row: TokenRow): SessionRecord {
  return {
    id: row.id,
    username: row.username,
    startedAtMs: row.started_at,
    expiresAtMs: row.expires_at,
  };
}
