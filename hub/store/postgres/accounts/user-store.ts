import { isLastAdministrator } from '../../../core/accounts.js';
import type { UserChange, UserStore } from '../../../core/ports/accounts.js';
import { type UserRow, userOfRow } from '../../rows/user-row.js';
import { type Database, type Queries, statement } from '../connection/pool.js';
import type { AccountWork } from './account-work.js';

const COLUMNS = 'username, password_hash, roles, disabled, source, created_at';
const SELECT = statement(`SELECT ${COLUMNS} FROM hub_user WHERE username = $1`);
const SELECT_ALL = statement(`SELECT ${COLUMNS} FROM hub_user ORDER BY username`);
// Of two that would take the last two administrators away, one waits here, and then sees the change of the other.
const LOCK_ADMINISTRATORS = statement(`
  SELECT ${COLUMNS} FROM hub_user WHERE NOT disabled AND 'ADMIN' = ANY (string_to_array(roles, ',')) ORDER BY username FOR UPDATE`);
const INSERT = statement(`
  INSERT INTO hub_user (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (username) DO NOTHING`);
const UPDATE = statement(`
  UPDATE hub_user SET password_hash = coalesce($2, password_hash), roles = coalesce($3, roles),
    disabled = coalesce($4, disabled), source = coalesce($5, source)
  WHERE username = $1`);
const END_SESSIONS = statement('DELETE FROM session WHERE username = $1');
const REMOVE = statement('DELETE FROM hub_user WHERE username = $1 RETURNING username');

export function postgresUserStore(database: Database, work: AccountWork): UserStore {
  return {
    find: (username) =>
      work.read(async () => {
        const [row] = await database.rows<UserRow<boolean>>(SELECT, [username]);
        return row && userOfRow(row);
      }),
    all: () => work.read(async () => (await database.rows<UserRow<boolean>>(SELECT_ALL)).map(userOfRow)),
    add: (user) =>
      work.write((isRepeat) =>
        database.transaction(async (queries) => {
          const { username, passwordHash, roles, disabled, source, createdAtMs } = user;
          const row = [username, passwordHash, roles.join(','), disabled, source, createdAtMs];
          if ((await queries.changed(INSERT, row)) > 0) return true;
          if (!isRepeat) return false;
          const [found] = await queries.rows<UserRow<boolean>>(SELECT, [username]);
          // Each hash has a salt of its own.
          return found?.password_hash === passwordHash && found.created_at === createdAtMs;
        }),
      ),
    change: (username, change) =>
      work.write(() => database.transaction((queries) => changeBy(queries, username, change))),
    changeUnlessLastAdministrator: (username, change) =>
      work.write(() =>
        database.transaction(async (queries) => {
          const administrators = await queries.rows<UserRow<boolean>>(LOCK_ADMINISTRATORS);
          if (isLastAdministrator(username, administrators.map(userOfRow))) return false;
          return changeBy(queries, username, change);
        }),
      ),
    remove: (username) => work.change(database, REMOVE, [username]),
  };
}

async function changeBy(
  queries: Queries,
  username: string,
  { passwordHash, roles, disabled, source, endSessions }: UserChange,
): Promise<boolean> {
  const changes = [passwordHash ?? null, roles?.join(',') ?? null, disabled ?? null, source ?? null];
  const changed = await queries.changed(UPDATE, [username, ...changes]);
  // A statement of its own, which sees sessions that were opened while the first one waited for the row.
  if (endSessions) await queries.changed(END_SESSIONS, [username]);
  return changed > 0;
}
