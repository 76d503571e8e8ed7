/** Plans of statements on PostgreSQL, which must not stay those of a small table while it grows. */
import { openPool, statement } from '@workbench-hub/hub/store/postgres/connection/pool';
import { openPostgresStore } from '@workbench-hub/hub/store/postgres/store';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { memoryLog } from '../support/memory-log.js';
import { emptyDatabase, hasPostgres, migratedDatabase } from '../support/stores/postgres.js';
import { INSTANCE, newTask } from './store-under-test.js';

const ROUNDS = 50;
const TASKS_A_ROUND = 40;

it.skipIf(!hasPostgres)(
  'a store that grows from nothing looks tasks up, and does not read all of them',
  async () => {
    const database = await migratedDatabase();
    const { log } = memoryLog();
    const db = openPool({ url: database.url, log });
    const onBroken = (why: Error) => {
      throw why;
    };
    const { queue, close } = await openPostgresStore(db, {
      ...systemRuntime,
      log,
      hub: 'hub',
      incarnation: 'this test',
      onBroken,
    });
    for (let round = 0; round < ROUNDS; round++) {
      const tasks = Array.from({ length: TASKS_A_ROUND }, () => newTask());
      await queue.insert(tasks);
      for (const { id } of tasks) {
        expect(await queue.claim([{ taskId: id, instance: INSTANCE, startedAtMs: 1 }])).toHaveLength(1);
      }
    }
    await close();
    await db.close();

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
