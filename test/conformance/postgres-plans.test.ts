/** Plans of statements on PostgreSQL, which must not stay those of a small table while it grows. */
import { openPool, statement } from '@workbench-hub/hub/store/postgres/connection/pool';
import { countsOf } from '@workbench-hub/hub/store/postgres/rows/point-counts';
import { openPostgresStore } from '@workbench-hub/hub/store/postgres/store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { memoryLog } from '../support/memory-log.js';
import { emptyDatabase, hasPostgres, migratedDatabase } from '../support/stores/postgres.js';
import { INSTANCE, newTask } from './store-under-test.js';
import { newStudy } from './studies-suite.js';

const ROUNDS = 50;
const TASKS_A_ROUND = 40;

/** A store in a database of its own, which the caller closes. */
async function openStore() {
  const database = await migratedDatabase();
  const { log } = memoryLog();
  const db = openPool({ url: database.url, log });
  const onBroken = (why: Error) => {
    throw why;
  };
  const store = await openPostgresStore(db, {
    ...systemRuntime,
    log,
    hub: 'hub',
    incarnation: 'this test',
    onBroken,
  });
  const close = async () => {
    await store.close();
    await db.close();
  };
  return { database, db, store, close };
}

it.skipIf(!hasPostgres)(
  'a store that grows from nothing looks tasks up, and does not read all of them',
  async () => {
    const { database, store, close } = await openStore();
    const { queue } = store;
    for (let round = 0; round < ROUNDS; round++) {
      const tasks = Array.from({ length: TASKS_A_ROUND }, () => newTask());
      await queue.insert(tasks);
      for (const { id } of tasks) {
        expect(await queue.claim([{ taskId: id, instance: INSTANCE, startedAtMs: 1 }])).toHaveLength(1);
      }
    }
    await close();

    const claims = ROUNDS * TASKS_A_ROUND;
    // Each connection tells its numbers at its end.
    const read = await eventually(async () => {
      const [counts] = await database.query<{ claimed: number; as_a_whole: number }>(`
      SELECT sum(n_tup_upd)::integer AS claimed, sum(seq_tup_read)::integer AS as_a_whole
      FROM pg_stat_user_tables WHERE relname IN ('task', 'task_request')`);
      return counts && counts.claimed >= claims && counts;
    });
    // While the tables are small, they are read as a whole.
    expect(read.as_a_whole).toBeLessThan(100 * claims);
    await database.drop();
  },
);

it.skipIf(!hasPostgres)('the points of a study are counted in indexes alone', async () => {
  const { database, db, store, close } = await openStore();
  const pointCount = 2000;
  const study = newStudy({ pointCount });
  await store.studies.create(study);
  const none = { cause: null, message: 'm'.repeat(1000), values: [], source: null, startedAtMs: null };
  const ends = [
    null,
    { outcome: 'CANCELED', endedAtMs: 1, ...none },
    { outcome: 'FINISHED', endedAtMs: 1, ...none },
    { outcome: 'FINISHED', endedAtMs: 1, ...none },
  ] as const;
  const points = Array.from({ length: pointCount }, (_, index) => ({
    ...{ variables: [1], bundle: null, notReused: null },
    end: ends[index % ends.length] ?? null,
  }));
  await store.studies.begin(study.id, 0, points);
  await store.studies.retry(study.id, ['CANCELED'], 2);
  await database.query('VACUUM ANALYZE study_point');
  expect(await store.studies.counts(study.id)).toEqual({ OPEN: 500, DUE: 500, FINISHED: 1000 });
  const counts = countsOf(`(SELECT seq FROM study WHERE id = '${study.id}')`);
  const plan = await db.rows<Record<string, string>>(statement(`EXPLAIN ${counts}`));
  const lines = plan.map((row) => String(row['QUERY PLAN']));
  const scans = lines
    .filter((line) => / on study_point/.test(line))
    .map((line) => line.replace(/ on .*/, ''));
  expect(scans.map((scan) => scan.replace(/.*-> {2}/, '')).sort()).toEqual([
    'Index Only Scan using study_point_due',
    'Index Only Scan using study_point_open',
    'Index Only Scan using study_point_outcome',
  ]);
  await close();
  await database.drop();
});

it.skipIf(!hasPostgres)('the settings of server and role for planning do not matter', async () => {
  const test = await emptyDatabase();
  const others = [
    'plan_cache_mode = force_custom_plan',
    'enable_seqscan = on',
    'random_page_cost = 40',
    'jit = on',
  ];
  for (const setting of others) await test.query(`ALTER DATABASE ${test.name} SET ${setting}`);
  const database = openPool({ url: test.url, log: null });
  const [shown] = await database.rows(
    statement(`SELECT current_setting('plan_cache_mode') AS plans, current_setting('enable_seqscan') AS scans,
      current_setting('random_page_cost') AS cost, current_setting('jit') AS jit`),
  );
  expect(shown).toEqual({ plans: 'force_generic_plan', scans: 'off', cost: '1.1', jit: 'off' });
  await database.close();
  await test.drop();
});
