/** Lists on PostgreSQL over many tasks: pages of any place, from both ends, and searches in several buckets. */
import type { TaskOrder, TaskQuery, TaskWindowQuery } from '@workbench-hub/hub/core/ports/task-archive';
import { foldedName } from '@workbench-hub/hub/core/task-filter';
import { TaskLists } from '@workbench-hub/hub/engine/tasks/task-lists';
import { type Database, openPool, statement } from '@workbench-hub/hub/store/postgres/connection/pool';
import { openPostgresStore, type PostgresTaskStore } from '@workbench-hub/hub/store/postgres/store';
import { PRIORITIES, priorityRank } from '@workbench-hub/shared/domain/priority';
import { TASK_STATUSES, TASK_TYPES, type TaskStatus } from '@workbench-hub/shared/domain/task';
import { matchesWildcard } from '@workbench-hub/shared/domain/wildcard';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { longHistory, RARE } from '../bench/lists/fill-store.js';
import type { StoredTask } from '../bench/stored-tasks/stored-task.js';
import { writeToPostgres } from '../bench/stored-tasks/write-to-postgres.js';
import { memoryLog } from '../support/memory-log.js';
import { type SeededRandom, seededRandom } from '../support/random.js';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';

/** Some buckets of tasks, and pages that are far from both ends. */
const SIZE = { ended: 9000, running: 16, waiting: 4000 };
const QUERIES = 120;
const WINDOWS = 40;

let database: TestDatabase;
let db: Database;
let store: PostgresTaskStore;
/** Oldest first. */
let tasks: readonly StoredTask[];
/** Study of each task that has one, by the id of the task. */
let studies: ReadonlyMap<string, string>;

const fits = (pattern: string | undefined, text: string | null) =>
  pattern === undefined || (text !== null && matchesWildcard(pattern, text));

function matching(query: TaskQuery | TaskWindowQuery): StoredTask[] {
  const { instances = [], requestedFromMs = 0, requestedBeforeMs = Number.POSITIVE_INFINITY } = query;
  const name = query.name === undefined ? undefined : foldedName(query.name);
  return tasks.filter(
    (task) =>
      fits(query.id, task.id) &&
      fits(name, task.name && foldedName(task.name)) &&
      fits(query.creator, task.creator) &&
      (query.study === undefined || query.study === (studies.get(task.id) ?? null)) &&
      (query.type ?? task.type) === task.type &&
      (query.priority === undefined || priorityRank(query.priority) === task.priority) &&
      (query.statuses.length === 0 || query.statuses.includes(task.status)) &&
      (instances.length === 0 || instances.includes(task.instance_id ?? '')) &&
      task.requested_at >= requestedFromMs &&
      task.requested_at < requestedBeforeMs,
  );
}

function inOrder(found: readonly StoredTask[], order: TaskOrder): readonly StoredTask[] {
  const startOf = (task: StoredTask) => task.started_at ?? Number.NEGATIVE_INFINITY;
  if (order === 'NEWEST_FIRST') return found.toReversed();
  if (order === 'NEXT_TO_RUN_FIRST') return found.toSorted((a, b) => a.priority - b.priority);
  return found.toSorted((a, b) => (startOf(a) === startOf(b) ? 0 : startOf(a) - startOf(b)));
}

function randomFilter(random: SeededRandom) {
  const maybe = <T>(item: T) => (random.oneIn(3) ? item : undefined);
  const { id, requested_at: at } = random.of(tasks);
  return {
    id: maybe(random.of([id, `*${id.slice(-2)}`, `${id.slice(0, 10)}*`, '*a*b*'])),
    name: maybe(random.of(['*run*', '*1*2*', 'gear*study*ab?c*', '*99', RARE.name.toUpperCase(), '*xyzzy*'])),
    creator: maybe(random.of([RARE.creator, 'user7', '*1*'])),
    study: maybe(random.of([null, null, 'study 0', 'study 2'])),
    type: maybe(random.of(TASK_TYPES)),
    priority: maybe(random.of(PRIORITIES)),
    statuses: random.oneIn(2) ? [] : TASK_STATUSES.filter(() => random.oneIn(2)),
    instances: random.oneIn(4) ? ['sim-3', 'sim-4'] : [],
    requestedFromMs: random.oneIn(4) ? at : undefined,
    requestedBeforeMs: random.oneIn(4) ? at : undefined,
  };
}

describe.skipIf(!hasPostgres)('lists of many tasks on PostgreSQL', () => {
  beforeAll(async () => {
    database = await migratedDatabase();
    const history = longHistory(SIZE, 1);
    tasks = [...history.tasks];
    await writeToPostgres(database.url, { ...history, tasks });
    const points = await database.query<{ id: string; study_id: string }>(
      `UPDATE task_text SET study_id = 'study ' || task_seq / 4000 WHERE task_seq % 3 <> 0 RETURNING id, study_id`,
    );
    studies = new Map(points.map(({ id, study_id }) => [id, study_id]));
    const { log } = memoryLog();
    db = openPool({ url: database.url, log });
    const onBroken = (why: Error) => {
      throw why;
    };
    const incarnation = systemRuntime.newId();
    store = await openPostgresStore(db, { ...systemRuntime, log, hub: 'hub', incarnation, onBroken });
  });
  afterAll(async () => {
    await store.close();
    await db.close();
    await database.drop();
  });

  async function expectPage(query: TaskQuery): Promise<void> {
    const { page, size, order = 'NEWEST_FIRST' } = query;
    const found = inOrder(matching(query), order);
    const listed = await store.archive.list(query);
    const ids = found.slice(page * size, (page + 1) * size).map(({ id }) => id);
    expect(
      { ids: listed.tasks.map(({ id }) => id), total: listed.totalElements },
      JSON.stringify(query),
    ).toEqual({ ids, total: found.length });
  }

  it.each<TaskOrder>(['NEWEST_FIRST', 'NEXT_TO_RUN_FIRST', 'LONGEST_RUNNING_FIRST'])(
    'have each page at its place, %s',
    async (order) => {
      const filters: { statuses: TaskStatus[]; name?: string; study?: null }[] = [
        { statuses: [] },
        { statuses: ['WAITING', 'RUNNING'] },
        { statuses: ['FINISHED'] },
        { statuses: [], name: '*1*' },
        { statuses: [], study: null },
        { statuses: ['FINISHED', 'WAITING'], name: '*run*' },
      ];
      for (const filter of filters) {
        const total = matching({ ...filter, page: 0, size: 1 }).length;
        const last = Math.floor((total - 1) / 20);
        const pages = [0, 1, Math.floor(last / 2), 260, last - 1, last, last + 1, last + 100];
        for (const page of pages) await expectPage({ ...filter, page, size: 20, order });
        await expectPage({ ...filter, page: 1, size: 3000, order });
      }
    },
  );

  it('are the same as a comparison of single tasks', async () => {
    const random = seededRandom(7);
    const orders: TaskOrder[] = ['NEWEST_FIRST', 'NEXT_TO_RUN_FIRST', 'LONGEST_RUNNING_FIRST'];
    for (let query = 0; query < QUERIES; query++) {
      const filter = randomFilter(random);
      const size = random.of([1, 20, 700]);
      const pages = Math.ceil(matching({ ...filter, page: 0, size }).length / size);
      await expectPage({ ...filter, page: random.below(pages + 2), size, order: random.of(orders) });
    }
  });

  it('are read two at a time, each with 64 MiB of memory for a step', async () => {
    let [reading, most] = [0, 0];
    let meet: () => void = () => undefined;
    const met = new Promise<void>((resolve) => {
      meet = resolve;
    });
    const memory = new Set<unknown>();
    const watched: Database = {
      ...db,
      transaction: (work, settings) =>
        db.transaction(async (queries) => {
          most = Math.max(most, ++reading);
          // The first one waits for a second, however fast it would be.
          if (reading === 2) meet();
          await met;
          try {
            for (const shown of await queries.rows<{ work_mem: string }>(statement('SHOW work_mem')))
              memory.add(shown.work_mem);
            return await work(queries);
          } finally {
            reading--;
          }
        }, settings),
    };
    const { log } = memoryLog();
    const onBroken = (why: Error) => {
      throw why;
    };
    const other = { hub: 'another hub', incarnation: systemRuntime.newId() };
    const opened = await openPostgresStore(watched, { ...systemRuntime, log, ...other, onBroken });
    const query: TaskQuery = { page: 0, size: 20, statuses: [], name: '*1*' };
    const lists = new TaskLists(opened.archive);
    await Promise.all(Array.from({ length: 12 }, () => lists.list(query)));
    await opened.close();
    expect(most).toBe(2);
    expect([...memory]).toEqual(['64MB']);
  });

  it('are read window by window', async () => {
    const random = seededRandom(8);
    for (let query = 0; query < WINDOWS; query++) {
      const filter = randomFilter(random);
      const size = random.of([20, 700, 2000]);
      const expected = inOrder(matching({ ...filter, after: null, size }), 'NEWEST_FIRST');
      const ofAnyStatus = matching({ ...filter, statuses: [], after: null, size });
      const counts = Object.fromEntries(
        TASK_STATUSES.map((status) => [status, ofAnyStatus.filter((task) => task.status === status).length]),
      );
      const ids: string[] = [];
      for (let after: string | null = null, windows = 0; windows < 5; windows++) {
        const window = await store.archive.window({ ...filter, after, size });
        ids.push(...window.tasks.map(({ id }) => id));
        expect(window.counts, JSON.stringify(filter)).toEqual(counts);
        after = window.next;
        if (after === null) break;
      }
      expect(ids, JSON.stringify({ ...filter, size })).toEqual(
        expected.slice(0, Math.min(expected.length, 5 * size)).map(({ id }) => id),
      );
    }
  });
});
