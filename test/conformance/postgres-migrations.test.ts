/** Migrations of a database on PostgreSQL: their order, their turns, and the refusals in words. */

import { type Database, openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { type MigrationOptions, migrate } from '@workbench-hub/hub/store/postgres/schema/migrate';
import type { Migration } from '@workbench-hub/hub/store/postgres/schema/migration';
import { MIGRATIONS } from '@workbench-hub/hub/store/postgres/schema/schema';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { emptyDatabase, hasPostgres, type TestDatabase } from '../support/stores/postgres.js';

const FIRST: Migration = { id: '0001-first', phase: 'expand', sql: 'CREATE TABLE first (n INTEGER)' };
const SECOND: Migration = { id: '0002-second', phase: 'expand', sql: 'ALTER TABLE first ADD COLUMN m TEXT' };
const REMOVAL: Migration = { id: '0003-removal', phase: 'contract', sql: 'ALTER TABLE first DROP COLUMN n' };

let test: TestDatabase;
let database: Database;

describe.skipIf(!hasPostgres)('migrations on PostgreSQL', () => {
  beforeEach(async () => {
    test = await emptyDatabase();
    database = openPool({ url: test.url, log: null });
  });
  afterEach(async () => {
    await database.close();
    await test.drop();
  });

  const run = async (migrations: readonly Migration[], options: Partial<MigrationOptions> = {}) => {
    const { timers } = systemRuntime;
    return (await migrate(database, migrations, { timers, holder: 'this test', ...options })).done;
  };
  const applied = async () =>
    (await test.query<{ id: string }>('SELECT id FROM schema_migration ORDER BY id')).map(({ id }) => id);
  const columns = async () =>
    (
      await test.query<{ column_name: string }>(
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'first' ORDER BY 1",
      )
    ).map(({ column_name }) => column_name);

  it('are applied once, in the order of their ids', async () => {
    expect(await run([SECOND, FIRST])).toEqual(['0001-first', '0002-second']);
    expect(await run([SECOND, FIRST])).toEqual([]);
    expect(await run([FIRST, SECOND, REMOVAL])).toEqual(['0003-removal']);
    expect(await applied()).toEqual(['0001-first', '0002-second', '0003-removal']);
    expect(await columns()).toEqual(['m']);
  });

  it('that remove follow while the hub works, unless there is nothing to remove yet', async () => {
    await run([FIRST]);
    expect(await run([FIRST, SECOND, REMOVAL], { which: 'BEFORE_START' })).toEqual(['0002-second']);
    expect(await columns()).toEqual(['m', 'n']);
    expect(await run([FIRST, SECOND, REMOVAL])).toEqual(['0003-removal']);
    expect(await columns()).toEqual(['m']);
    await test.query('DROP TABLE first, schema_migration');
    expect(await run([FIRST, SECOND, REMOVAL], { which: 'BEFORE_START' })).toHaveLength(3);
  });

  it('are applied once when several hubs start at the same time', async () => {
    const slow = { ...SECOND, sql: `SELECT pg_sleep(0.3); ${SECOND.sql}` };
    const done = await Promise.all(['a', 'b', 'c'].map((holder) => run([FIRST, slow, REMOVAL], { holder })));
    expect(done.flat()).toEqual(['0001-first', '0002-second', '0003-removal']);
    expect(await columns()).toEqual(['m']);
    expect(await test.query('SELECT holder FROM schema_turn')).toEqual([]);
  });

  it('leave nothing of one that fails, and keep the earlier ones', async () => {
    const failing = { ...SECOND, sql: `${SECOND.sql}; SELECT 1 / 0` };
    await expect(run([FIRST, failing, REMOVAL])).rejects.toThrow('division by zero');
    expect(await applied()).toEqual(['0001-first']);
    expect(await columns()).toEqual(['n']);
    expect(await run([FIRST, SECOND])).toEqual(['0002-second']);
  });

  it('count the failures of a study that runs since it was resumed', async () => {
    await run(MIGRATIONS.filter(({ id }) => id < '0032'));
    await test.query(`INSERT INTO study (id, name, state, created_at, running_since_at, point_count, begun_count, retry_count, is_open, definition)
      VALUES ('resumed', 's', 'RUNNING', 1, 5, 3, 3, 0, false, '{}'), ('first', 's', 'RUNNING', 1, 1, 3, 3, 0, false, '{}')`);
    await test.query(`INSERT INTO study_point (study_seq, number, tries, is_due, variables, outcome, ended_at)
      SELECT seq, number, 1, false, '[]', 'SOLVER_FAILED', number + 3 FROM study, generate_series(1, 3) AS number`);
    expect(await run(MIGRATIONS)).toContain('0032-resumes-of-studies');
    const counts = await test.query(`SELECT id, study.resume_count::integer AS resumes,
        count(*) FILTER (WHERE point.resume_count = study.resume_count)::integer AS failed
      FROM study JOIN study_point AS point ON study_seq = seq GROUP BY seq ORDER BY id`);
    expect(counts).toEqual([
      { id: 'first', resumes: 0, failed: 3 },
      { id: 'resumed', resumes: 1, failed: 2 },
    ]);
  });

  it('refuse a database that a newer hub has migrated', async () => {
    await run([FIRST, SECOND, REMOVAL]);
    await expect(run([FIRST, SECOND])).rejects.toThrow(
      /^a newer hub has migrated the database postgres:\/\/postgres@127\.0\.0\.1:\d+\/test_\w+ \(0003-removal\): start the newer hub, or restore a backup from before the update$/,
    );
  });

  it('wait for a table that another session has locked, and then refuse in words', async () => {
    await run([FIRST]);
    const other = await database.connect();
    await other.script('BEGIN; LOCK TABLE first');
    const waiting = run([FIRST, SECOND], { waitMs: 2000 });
    await expect(waiting).rejects.toThrow(
      /^the migration 0002-second .* waits for a lock that another session holds: end that session/,
    );
    expect(await applied()).toEqual(['0001-first']);
    const patient = run([FIRST, SECOND]);
    await other.script('COMMIT');
    expect(await patient).toEqual(['0002-second']);
    await other.close();
  });

  it('wait for the turn of another process, until it expires', async () => {
    await run([FIRST]);
    const lend = (seconds: number) =>
      test.query(
        `INSERT INTO schema_turn (holder, until) VALUES ('other', now() + make_interval(secs => ${seconds}))
         ON CONFLICT (only_row) DO UPDATE SET holder = 'other', until = excluded.until`,
      );
    await lend(60);
    await expect(run([FIRST, SECOND], { waitMs: 400 })).rejects.toThrow(
      /^another process migrates the database .*: start again later$/,
    );
    // Without a time to wait for, it does not wait: these timers stand still.
    const { timers } = manualRuntime();
    await expect(run([FIRST, SECOND], { waitMs: 0, timers })).rejects.toThrow(/: start again later$/);
    await lend(1);
    expect(await run([FIRST, SECOND])).toEqual(['0002-second']);
  });

  it('keep their turn however long they take', async () => {
    const { timers } = systemRuntime;
    const quick = { ...timers, after: (ms: number, action: () => void) => timers.after(ms / 100, action) };
    const slow = { ...SECOND, sql: `SELECT pg_sleep(2); ${SECOND.sql}` };
    const done = run([FIRST, slow], { timers: quick });
    const ends = new Set<number>();
    await eventually(async () => {
      const [turn] = await test.query<{ until: Date }>('SELECT until FROM schema_turn').catch(() => []);
      if (turn) ends.add(turn.until.getTime());
      return ends.size > 2;
    });
    expect(await done).toEqual(['0001-first', '0002-second']);
  });

  it('need no right to create tables where nothing is to be done', async () => {
    await run([FIRST]);
    await test.query(`
      CREATE ROLE reader_${test.name} LOGIN PASSWORD 'pw';
      GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_${test.name}`);
    const url = test.server.url(test.name, { name: `reader_${test.name}`, password: 'pw' });
    const asReader = openPool({ url, log: null });
    try {
      const options = { timers: systemRuntime.timers, holder: 'reader' };
      expect(await migrate(asReader, [FIRST], options)).toEqual({ done: [], waitsFor: [] });
      await expect(migrate(asReader, [FIRST, SECOND], options)).rejects.toMatchObject({ kind: 'NO_RIGHTS' });
    } finally {
      await asReader.close();
      await test.query(`DROP OWNED BY reader_${test.name}; DROP ROLE reader_${test.name}`);
    }
  });
});
