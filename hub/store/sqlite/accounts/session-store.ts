import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { SessionStore, UserSessions } from '../../../core/ports/accounts.js';
import { MAX_SESSIONS_OF_USER } from '../../rows/limits.js';
import {
  refreshStateOfRow,
  type SessionRow,
  sessionsOfRows,
  type UserSessionsRow,
} from '../../rows/session-row.js';
import { rolesOf } from '../../rows/user-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import { translatedWith } from './translate-errors.js';

export function sqliteSessionStore(
  db: SqliteDatabase,
  log: Logger | null,
  maxSessionsOfUser = MAX_SESSIONS_OF_USER,
): SessionStore {
  const translated = translatedWith(log);
  const insertSession = db.prepare<[string, number, number, string | null, string | null, string, string]>(`
    INSERT INTO session (id, username, started_at, expires_at, family_hash, current_hash)
    SELECT ?, username, ?, ?, ?, ? FROM user WHERE username = ? AND password_hash = ? AND disabled = 0`);
  // The new session stays even when the clock was set back.
  const endOldest = db.prepare<[string, string, number]>(`
    DELETE FROM session WHERE id IN
      (SELECT id FROM session WHERE username = ? AND id <> ? ORDER BY started_at DESC, id DESC LIMIT -1 OFFSET ?)`);
  const selectHolder = db.prepare<[string, number], { username: string; roles: string }>(`
    SELECT user.username, user.roles FROM session JOIN user ON user.username = session.username
    WHERE session.id = ? AND session.expires_at > ? AND user.disabled = 0`);
  const selectOfFamily = db.prepare<[string, number], SessionRow>(`
    SELECT session.* FROM session JOIN user ON user.username = session.username
    WHERE session.family_hash = ? AND session.expires_at > ? AND user.disabled = 0`);
  const rotateToken = db.prepare<{
    id: string;
    spentHash: string;
    spentAtMs: number;
    salt: string;
    familyHash: string;
    nextHash: string;
    expiresAtMs: number;
  }>(`
    UPDATE session SET family_hash = :familyHash, current_hash = :nextHash, spent_hash = :spentHash, spent_at = :spentAtMs, turn_salt = :salt,
      expires_at = :expiresAtMs
    WHERE id = :id AND current_hash = :spentHash`);
  const endSession = db.prepare<[string]>('DELETE FROM session WHERE id = ?');
  const ofUsers = sessionsOfUsers(db);
  const sweepSessions = db.prepare<[number]>('DELETE FROM session WHERE expires_at <= ?');

  return {
    open: ({ id, username, startedAtMs, expiresAtMs }, first, passwordHash) =>
      translated(() =>
        db
          .transaction(() => {
            const { familyHash = null, tokenHash = null } = first ?? {};
            const { changes } = insertSession.run(
              id,
              startedAtMs,
              expiresAtMs,
              familyHash,
              tokenHash,
              username,
              passwordHash,
            );
            if (changes === 0) return false;
            endOldest.run(username, id, maxSessionsOfUser - 1);
            return true;
          })
          .immediate(),
      ),
    holder: (sessionId, nowMs) =>
      translated(() => {
        const row = selectHolder.get(sessionId, nowMs);
        return row && { username: row.username, roles: rolesOf(row.roles) };
      }),
    ofFamily: (familyHash, nowMs) =>
      translated(() => {
        const row = selectOfFamily.get(familyHash, nowMs);
        return row && refreshStateOfRow(row);
      }),
    rotate: (id, { spent, familyHash, nextHash, expiresAtMs }) =>
      translated(() => {
        const { hash: spentHash, atMs: spentAtMs, salt } = spent;
        return (
          rotateToken.run({ id, spentHash, spentAtMs, salt, familyHash, nextHash, expiresAtMs }).changes === 1
        );
      }),
    end: (sessionId) => translated(() => void endSession.run(sessionId)),
    ofUsers: (nowMs) => translated(() => ofUsers(nowMs)),
    sweep: (nowMs) => translated(() => sweepSessions.run(nowMs).changes),
  };
}

function sessionsOfUsers(db: SqliteDatabase): (nowMs: number) => ReadonlyMap<string, UserSessions> {
  const select = db.prepare<[number], UserSessionsRow>(`
    SELECT username, count(*) AS count, max(started_at) AS latest FROM session WHERE expires_at > ? GROUP BY username`);
  return (nowMs) => sessionsOfRows(select.all(nowMs));
}
