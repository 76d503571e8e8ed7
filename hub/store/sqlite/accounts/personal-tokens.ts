import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { PersonalTokenRecord, PersonalTokenStore } from '../../../core/ports/personal-tokens.js';
import { type PersonalTokenRow, tokenOfRow } from '../../rows/personal-token-row.js';
import { rolesOf } from '../../rows/user-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import { translatedWith } from './translate-errors.js';

export function sqlitePersonalTokens(db: SqliteDatabase, log: Logger | null): PersonalTokenStore {
  const translated = translatedWith(log);
  const count = db.prepare<[string, number], { living: number }>(
    'SELECT count(*) AS living FROM personal_token WHERE username = ? AND expires_at > ?',
  );
  const insert = db.prepare<PersonalTokenRow & { hash: string }>(`
    INSERT INTO personal_token (id, hash, username, name, role, created_at, expires_at, last_used_at)
    VALUES (@id, @hash, @username, @name, @role, @created_at, @expires_at, @last_used_at)`);
  const selectHolder = db.prepare<[string, number], PersonalTokenRow & { user_roles: string }>(`
    SELECT personal_token.*, user.roles AS user_roles
    FROM personal_token JOIN user ON user.username = personal_token.username
    WHERE personal_token.hash = ? AND personal_token.expires_at > ? AND user.disabled = 0`);
  const select = db.prepare<[string, number], PersonalTokenRow>(
    'SELECT * FROM personal_token WHERE id = ? AND expires_at > ?',
  );
  const selectOfUser = db.prepare<[string, number], PersonalTokenRow>(
    'SELECT * FROM personal_token WHERE username = ? AND expires_at > ? ORDER BY created_at DESC, id DESC',
  );
  const remove = db.prepare<[string]>('DELETE FROM personal_token WHERE id = ?');
  const updateUsed = db.prepare<[number, string]>('UPDATE personal_token SET last_used_at = ? WHERE id = ?');
  const sweep = db.prepare<[number]>('DELETE FROM personal_token WHERE expires_at <= ?');

  return {
    add: (token, hash, limit) =>
      translated(() =>
        db
          .transaction(() => {
            if ((count.get(token.username, token.createdAtMs)?.living ?? 0) >= limit) return false;
            insert.run({ ...rowOf(token), hash });
            return true;
          })
          .immediate(),
      ),
    holder: (hash, nowMs) =>
      translated(() => {
        const row = selectHolder.get(hash, nowMs);
        return row && { token: tokenOfRow(row), userRoles: rolesOf(row.user_roles) };
      }),
    find: (id, nowMs) =>
      translated(() => {
        const row = select.get(id, nowMs);
        return row && tokenOfRow(row);
      }),
    ofUser: (username, nowMs) => translated(() => selectOfUser.all(username, nowMs).map(tokenOfRow)),
    remove: (id) => translated(() => void remove.run(id)),
    used: (lastUsedAtMs) =>
      translated(() =>
        db
          .transaction(() => {
            for (const [id, atMs] of lastUsedAtMs) updateUsed.run(atMs, id);
          })
          .immediate(),
      ),
    sweep: (nowMs) => translated(() => sweep.run(nowMs).changes),
  };
}

function rowOf(token: PersonalTokenRecord): PersonalTokenRow {
  return {
    id: token.id,
    username: token.username,
    name: token.name,
    role: token.role,
    created_at: token.createdAtMs,
    expires_at: token.expiresAtMs,
    last_used_at: token.lastUsedAtMs,
  };
}
