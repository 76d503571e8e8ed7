import type { PersonalTokenRecord, PersonalTokenStore } from '../../../core/ports/personal-tokens.js';
import { type PersonalTokenRow, tokenOfRow } from '../../rows/personal-token-row.js';
import { rolesOf } from '../../rows/user-row.js';
import { type Database, statement } from '../connection/pool.js';
import type { AccountWork } from './account-work.js';

const COLUMNS = ['id', 'username', 'name', 'role', 'created_at', 'expires_at', 'last_used_at'];
const SELECTED = COLUMNS.map((column) => `personal_token.${column}`).join(', ');
const LOCK_USER = statement('SELECT FROM hub_user WHERE username = $1 FOR NO KEY UPDATE');
const INSERT = statement(`
  INSERT INTO personal_token (${COLUMNS.join(', ')}, hash)
  SELECT $1, $2::text, $3, $4, $5::bigint, $6, $7, $8
  WHERE (SELECT count(*) FROM personal_token WHERE username = $2 AND expires_at > $5) < $9`);
const SELECT_HOLDER = statement(`
  SELECT ${SELECTED}, hub_user.roles AS user_roles
  FROM personal_token JOIN hub_user ON hub_user.username = personal_token.username
  WHERE personal_token.hash = $1 AND personal_token.expires_at > $2 AND NOT hub_user.disabled`);
const SELECT = statement(`SELECT ${SELECTED} FROM personal_token WHERE id = $1 AND expires_at > $2`);
const SELECT_OF_USER = statement(`
  SELECT ${SELECTED} FROM personal_token WHERE username = $1 AND expires_at > $2 ORDER BY created_at DESC, id DESC`);
const IS_THERE = statement('SELECT id FROM personal_token WHERE id = $1');
const REMOVE = statement('DELETE FROM personal_token WHERE id = $1');
const UPDATE_USED = statement(`
  UPDATE personal_token SET last_used_at = greatest(last_used_at, used.at)
  FROM unnest($1::text[], $2::bigint[]) AS used (id, at) WHERE personal_token.id = used.id`);
const SWEEP = statement('DELETE FROM personal_token WHERE expires_at <= $1');

export function postgresPersonalTokens(database: Database, work: AccountWork): PersonalTokenStore {
  return {
    add: (token, hash, limit) =>
      work.write((isRepeat) =>
        database.transaction(async (queries) => {
          // The lock makes simultaneous calls count one after the other.
          await queries.rows(LOCK_USER, [token.username]);
          if (isRepeat && (await queries.rows(IS_THERE, [token.id])).length > 0) return true;
          return (await queries.changed(INSERT, [...rowOf(token), hash, limit])) === 1;
        }),
      ),
    holder: (hash, nowMs) =>
      work.read(async () => {
        const [row] = await database.rows<PersonalTokenRow & { user_roles: string }>(SELECT_HOLDER, [
          hash,
          nowMs,
        ]);
        return row && { token: tokenOfRow(row), userRoles: rolesOf(row.user_roles) };
      }),
    find: (id, nowMs) =>
      work.read(async () => {
        const [row] = await database.rows<PersonalTokenRow>(SELECT, [id, nowMs]);
        return row && tokenOfRow(row);
      }),
    ofUser: (username, nowMs) =>
      work.read(async () =>
        (await database.rows<PersonalTokenRow>(SELECT_OF_USER, [username, nowMs])).map(tokenOfRow),
      ),
    remove: (id) => work.write(async () => void (await database.changed(REMOVE, [id]))),
    used: (lastUsedAtMs) =>
      work.write(async () => {
        const ids = [...lastUsedAtMs.keys()].sort();
        await database.changed(UPDATE_USED, [ids, ids.map((id) => lastUsedAtMs.get(id))]);
      }),
    sweep: (nowMs) => work.write(() => database.changed(SWEEP, [nowMs])),
  };
}

/** Values in the order of {@link COLUMNS}. */
function rowOf(token: PersonalTokenRecord): unknown[] {
  const { id, username, name, role, createdAtMs, expiresAtMs, lastUsedAtMs } = token;
  return [id, username, name, role, createdAtMs, expiresAtMs, lastUsedAtMs];
}
