import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { isLastAdministrator } from '../../../core/accounts.js';
import type { UserChange, UserRecord, UserStore } from '../../../core/ports/accounts.js';
import { type UserRow, userOfRow } from '../../rows/user-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import { translatedWith } from './translate-errors.js';

type Row = UserRow<number>;

export function sqliteUserStore(db: SqliteDatabase, log: Logger | null): UserStore {
  const translated = translatedWith(log);
  const select = db.prepare<[string], Row>('SELECT * FROM user WHERE username = ?');
  const selectAll = db.prepare<[], Row>('SELECT * FROM user ORDER BY username');
  const insert = db.prepare<Row>(`
    INSERT INTO user (username, password_hash, roles, disabled, source, created_at)
    VALUES (@username, @password_hash, @roles, @disabled, @source, @created_at)
    ON CONFLICT (username) DO NOTHING`);
  const update = db.prepare<Pick<Row, 'username'> & { [Key in keyof Row]: Row[Key] | null }>(`
    UPDATE user SET password_hash = coalesce(@password_hash, password_hash), roles = coalesce(@roles, roles),
      disabled = coalesce(@disabled, disabled), source = coalesce(@source, source)
    WHERE username = @username`);
  const endSessions = db.prepare<[string]>('DELETE FROM session WHERE username = ?');
  const remove = db.prepare<[string]>('DELETE FROM user WHERE username = ?');

  const change = (
    username: string,
    { passwordHash, roles, disabled, source, endSessions: ends }: UserChange,
  ) => {
    const { changes } = update.run({
      username,
      password_hash: passwordHash ?? null,
      roles: roles?.join(',') ?? null,
      disabled: disabled === undefined ? null : Number(disabled),
      source: source ?? null,
      created_at: null,
    });
    if (ends) endSessions.run(username);
    return changes > 0;
  };

  return {
    find: (username) =>
      translated(() => {
        const row = select.get(username);
        return row && userOfRow(row);
      }),
    all: () => translated(() => selectAll.all().map(userOfRow)),
    add: (user) => translated(() => insert.run(rowOf(user)).changes > 0),
    change: (username, changed) =>
      translated(() => db.transaction(() => change(username, changed)).immediate()),
    changeUnlessLastAdministrator: (username, changed) =>
      translated(() =>
        db
          .transaction(
            () => !isLastAdministrator(username, selectAll.all().map(userOfRow)) && change(username, changed),
          )
          .immediate(),
      ),
    remove: (username) => translated(() => remove.run(username).changes > 0),
  };
}

function rowOf(user: UserRecord): Row {
  return {
    username: user.username,
    password_hash: user.passwordHash,
    roles: user.roles.join(','),
    disabled: Number(user.disabled),
    source: user.source,
    created_at: user.createdAtMs,
  };
}
