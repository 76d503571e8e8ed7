import type { SessionStore } from '../../../core/ports/accounts.js';
import { MAX_SESSIONS_OF_USER } from '../../rows/limits.js';
import {
  refreshStateOfRow,
  type SessionRow,
  sessionsOfRows,
  type UserSessionsRow,
} from '../../rows/session-row.js';
import { rolesOf } from '../../rows/user-row.js';
import { type Database, statement } from '../connection/pool.js';
import type { AccountWork } from './account-work.js';

// The lock of the user's row makes a simultaneous change of the user wait or come first. The new session stays even when the
// clock was set back, since the removal does not see it.
const OPEN = statement(`
  WITH holder AS (
    SELECT username FROM hub_user WHERE username = $2 AND password_hash = $7 AND NOT disabled FOR SHARE
  ), opened AS (
    INSERT INTO session (id, username, started_at, expires_at, family_hash, current_hash)
    SELECT $1, username, $3, $4, $5, $6 FROM holder ON CONFLICT (id) DO NOTHING RETURNING id
  ), ended AS (
    DELETE FROM session WHERE EXISTS (SELECT FROM opened) AND id IN
      (SELECT id FROM session WHERE username = $2 ORDER BY started_at DESC, id DESC OFFSET $8)
  )
  SELECT id FROM opened`);
const IS_OPEN = statement('SELECT id FROM session WHERE id = $1');
const HOLDER = statement(`
  SELECT hub_user.username, hub_user.roles FROM session JOIN hub_user ON hub_user.username = session.username
  WHERE session.id = $1 AND session.expires_at > $2 AND NOT hub_user.disabled`);
const OF_FAMILY = statement(`
  SELECT session.id, session.username, started_at, expires_at, current_hash, spent_hash, spent_at, turn_salt
  FROM session JOIN hub_user ON hub_user.username = session.username
  WHERE session.family_hash = $1 AND session.expires_at > $2 AND NOT hub_user.disabled`);
const ROTATE = statement(`
  UPDATE session SET family_hash = $3, current_hash = $4, spent_hash = $2, spent_at = $5, turn_salt = $6, expires_at = $7
  WHERE id = $1 AND current_hash = $2`);
const END = statement('DELETE FROM session WHERE id = $1');
const OF_USERS = statement(`
  SELECT username, count(*)::integer AS count, max(started_at) AS latest FROM session WHERE expires_at > $1 GROUP BY username`);
const SWEEP = statement('DELETE FROM session WHERE expires_at <= $1');

export function postgresSessionStore(
  database: Database,
  work: AccountWork,
  maxSessionsOfUser = MAX_SESSIONS_OF_USER,
): SessionStore {
  return {
    open: ({ id, username, startedAtMs, expiresAtMs }, first, passwordHash) =>
      work.write((isRepeat) =>
        database.transaction(async (queries) => {
          const { familyHash = null, tokenHash = null } = first ?? {};
          const session = [id, username, startedAtMs, expiresAtMs, familyHash, tokenHash, passwordHash];
          const opened = await queries.rows(OPEN, [...session, maxSessionsOfUser - 1]);
          return opened.length > 0 || (isRepeat && (await queries.rows(IS_OPEN, [id])).length > 0);
        }),
      ),
    holder: (sessionId, nowMs) =>
      work.read(async () => {
        const [row] = await database.rows<{ username: string; roles: string }>(HOLDER, [sessionId, nowMs]);
        return row && { username: row.username, roles: rolesOf(row.roles) };
      }),
    ofFamily: (familyHash, nowMs) =>
      work.read(async () => {
        const [row] = await database.rows<SessionRow>(OF_FAMILY, [familyHash, nowMs]);
        return row && refreshStateOfRow(row);
      }),
    // One that took place in an earlier try finds the token spent, as beside a simultaneous one.
    rotate: (id, { spent, familyHash, nextHash, expiresAtMs }) =>
      work.write(async () => {
        const values = [id, spent.hash, familyHash, nextHash, spent.atMs, spent.salt, expiresAtMs];
        return (await database.changed(ROTATE, values)) === 1;
      }),
    end: (sessionId) => work.write(async () => void (await database.changed(END, [sessionId]))),
    ofUsers: (nowMs) =>
      work.read(async () => {
        return sessionsOfRows(await database.rows<UserSessionsRow>(OF_USERS, [nowMs]));
      }),
    sweep: (nowMs) => work.write(() => database.changed(SWEEP, [nowMs])),
  };
}
