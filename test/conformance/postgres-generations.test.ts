/** Schema generations: what hubs of neighboring ones may do to a database on which both work, and what is refused in words. */

import { type Database, openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { migrate } from '@workbench-hub/hub/store/postgres/schema/migrate';
import type { Migration } from '@workbench-hub/hub/store/postgres/schema/migration';
import { appliedMigrations, schemaGeneration } from '@workbench-hub/hub/store/postgres/schema/schema-state';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { emptyDatabase, hasPostgres, type TestDatabase } from '../support/stores/postgres.js';

const FIRST: readonly Migration[] = [
  {
    ...{ id: '0001-first', phase: 'expand' },
    sql: `CREATE TABLE thing (n INTEGER);
      CREATE TABLE hub (id TEXT PRIMARY KEY, version TEXT, generation INTEGER, seen_at TIMESTAMPTZ DEFAULT clock_timestamp())`,
  },
];
/** In another order than they are applied. */
const SECOND: readonly Migration[] = [
  ...FIRST,
  {
    ...{ id: '0002-removal', phase: 'contract', generation: 2 },
    sql: 'UPDATE thing SET doubled = 2 * n WHERE doubled IS NULL; ALTER TABLE thing DROP COLUMN n',
  },
  {
    ...{ id: '0003-filling', phase: 'backfill', generation: 2 },
    sql: 'UPDATE thing SET doubled = 2 * n WHERE ctid IN (SELECT ctid FROM thing WHERE doubled IS NULL LIMIT 2)',
  },
  {
    ...{ id: '0004-doubled', phase: 'expand', generation: 2 },
    sql: 'ALTER TABLE thing ADD COLUMN doubled INTEGER',
  },
];
const THIRD: readonly Migration[] = [
  ...SECOND,
  {
    ...{ id: '0005-third', phase: 'expand', generation: 3 },
    sql: 'ALTER TABLE thing ADD COLUMN third INTEGER',
  },
];

let test: TestDatabase;
let database: Database;

describe.skipIf(!hasPostgres)('schema generations on PostgreSQL', () => {
  beforeEach(async () => {
    test = await emptyDatabase();
    database = openPool({ url: test.url, log: null });
    await migrate(database, FIRST, { timers: systemRuntime.timers, holder: 'first', version: '1.0' });
    await test.query('INSERT INTO thing (n) SELECT generate_series(1, 5)');
  });
  afterEach(async () => {
    await database.close();
    await test.drop();
  });

  const start = (migrations: readonly Migration[], hubId = 'new', version = '2.0') =>
    migrate(database, migrations, {
      ...{ timers: systemRuntime.timers, holder: hubId, hubId, version },
      which: 'BEFORE_START',
    });
  const finish = (migrations: readonly Migration[], rest: object = {}) =>
    migrate(database, migrations, {
      timers: systemRuntime.timers,
      holder: 'finisher',
      version: '2.0',
      ...rest,
    });
  const live = (id: string, generation: number, version = `${generation}.0`) =>
    test.query('INSERT INTO hub (id, version, generation) VALUES ($1, $2, $3)', [id, version, generation]);
  const leave = (id: string) => test.query('DELETE FROM hub WHERE id = $1', [id]);
  const reached = async (migrations: readonly Migration[]) =>
    schemaGeneration(await appliedMigrations(database), migrations);

  it('are begun by the first new hub, beside which the former ones start again', async () => {
    await live('old', 1);
    expect(await start(SECOND)).toEqual({ done: ['0004-doubled'], waitsFor: [] });
    expect(await start(FIRST, 'old')).toEqual({ done: [], waitsFor: [] });
    await test.query('INSERT INTO thing (n) VALUES (6)');
    expect([await reached(FIRST), await reached(SECOND), await reached(THIRD)]).toEqual([1, 2, 1]);
  });

  it('are finished when no former hub lives: rows are filled in parts, then the rest is removed', async () => {
    await live('old', 1);
    await live('new', 2);
    await start(SECOND);
    const old = { id: 'old', version: '1.0', generation: 1 };
    expect(await finish(SECOND)).toEqual({ done: [], waitsFor: [old] });
    // Another hub of the former version has begun meanwhile.
    await live('other', 1);
    await leave('old');
    expect((await finish(SECOND)).waitsFor.map(({ id }) => id)).toEqual(['other']);
    await test.query("UPDATE hub SET seen_at = clock_timestamp() - interval '16 seconds' WHERE id = 'other'");
    expect(await finish(SECOND)).toEqual({ done: ['0003-filling', '0002-removal'], waitsFor: [] });
    expect(await test.query('SELECT * FROM thing ORDER BY 1')).toEqual(
      [2, 4, 6, 8, 10].map((doubled) => ({ doubled })),
    );
    expect(await finish(SECOND)).toEqual({ done: [], waitsFor: [] });
  });

  it('stop being finished between two parts when they are no longer to be', async () => {
    await start(SECOND);
    let parts = 0;
    const isWanted = () => ++parts <= 2;
    expect(await finish(SECOND, { isWanted })).toEqual({ done: [], waitsFor: [] });
    expect(await test.query('SELECT count(*) FROM thing WHERE doubled IS NULL')).toEqual([{ count: '1' }]);
    expect((await finish(SECOND)).done).toEqual(['0003-filling', '0002-removal']);
  });

  it('are passed one by one by a hub that skips some while none lives', async () => {
    expect((await start(THIRD)).done).toEqual(['0004-doubled', '0003-filling', '0002-removal', '0005-third']);
    expect(await reached(THIRD)).toBe(3);
  });

  it('are refused to a hub that would work beside hubs of two generations before, before anything is changed', async () => {
    await live('old', 1);
    await live('older', 1, '1.1');
    await expect(start(THIRD)).rejects.toThrow(
      /^on the database postgres:\S+ work the hubs old \(version 1\.0\), older \(version 1\.1\) of schema generation 1, and this hub has schema generation 3, which works beside 2 at least: upgrade those to a version of generation 2 first, or stop all of them$/,
    );
    expect((await appliedMigrations(database)).map(({ id }) => id)).toEqual(['0001-first']);
    await leave('older');
    // The hub itself, before its upgrade.
    expect((await start(THIRD, 'old')).done).toHaveLength(4);
  });

  it('are refused to a hub of two generations before', async () => {
    await start(THIRD, 'new', '3.1');
    await expect(start(FIRST, 'old')).rejects.toThrow(
      /^a newer hub \(version 3\.1\) has migrated the database postgres:\S+ to schema generation 3 \(0005-third\), and this hub has generation 1, which works on 2 at most: start the newer hub, or restore a backup from before the update$/,
    );
    expect(await reached(FIRST)).toBe(3);
  });

  it('are refused to a hub whose tables have been removed', async () => {
    await start(SECOND);
    await finish(SECOND, { version: '2.2' });
    await expect(start(FIRST, 'old')).rejects.toThrow(
      /^a newer hub \(version 2\.2\) has removed from the database postgres:\S+ what hubs of schema generation 1, as this one, need \(0002-removal\): start the newer hub, or restore a backup from before the update$/,
    );
    expect(await reached(FIRST)).toBe(2);
  });

  it('are not finished while hubs of the former one begin again and again', async () => {
    await start(SECOND);
    await live('old', 1);
    for (let round = 0; round < 3; round++) expect((await finish(SECOND)).done).toEqual([]);
    expect(await reached(FIRST)).toBe(1);
  });
});
