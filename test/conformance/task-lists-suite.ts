/** Lists on a store with a history: the same as by a comparison of single tasks. */
import type { TaskOrder, TaskQuery } from '@workbench-hub/hub/core/ports/task-archive';
import type { NewTask, Task } from '@workbench-hub/hub/core/task';
import { PRIORITIES, priorityRank } from '@workbench-hub/shared/domain/priority';
import { type AttemptRef, TASK_STATUSES, TASK_TYPES } from '@workbench-hub/shared/domain/task';
import { matchesWildcard } from '@workbench-hub/shared/domain/wildcard';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SeededRandom, seededRandom } from '../support/random.js';
import {
  INSTANCE,
  newTask,
  type OpenStore,
  type StoreUnderTest,
  startTask,
  WELL,
} from './store-under-test.js';

const TASKS = 250;
const QUERIES = 150;
const NAMES = [
  'Gear 1',
  'gear 12',
  'GEAR [2]',
  'Größe 7',
  'crank',
  'a*b',
  '',
  'ÉTÉ 1',
  '寿命 12',
  '🚀 1',
  'Long '.repeat(60),
];
const CREATORS = ['anna', 'Anna', 'bob'];
const NOTES = ['Softer bearing\nsecond try', 'see Größe 7', '🚀', '', 'n'.repeat(2000)];
const STUDIES = ['019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77', '019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a78'];

const orNull = <T>(random: SeededRandom, items: readonly T[]) => (random.oneIn(6) ? null : random.of(items));

function randomTask(random: SeededRandom): NewTask {
  const type = random.of(TASK_TYPES);
  const files = { model: null, scripts: [], additionalFiles: [], variables: [] };
  return newTask({
    type,
    job: type === 'SIMULATE_WORK' ? { type, durationS: 1 } : { type, ...files },
    name: orNull(random, NAMES),
    creator: orNull(random, CREATORS),
    note: orNull(random, NOTES),
    study: random.oneIn(2) ? null : { id: random.of(STUDIES), point: 1 + random.below(9) },
    priority: random.of(PRIORITIES),
  });
}

function randomQuery(random: SeededRandom, known: readonly Task[]): TaskQuery {
  const maybe = <T>(item: T) => (random.oneIn(3) ? item : undefined);
  const { id } = random.of(known);
  const orders: TaskOrder[] = ['NEWEST_FIRST', 'NEXT_TO_RUN_FIRST', 'LONGEST_RUNNING_FIRST'];
  return {
    page: random.below(4),
    size: random.of([1, 7, 100]),
    id: maybe(random.of([id, `*${id.slice(-2)}`, `${id.slice(0, 13)}*`, `*${id.charAt(9)}*7?`, '*'])),
    name: maybe(
      random.of([
        'gear*',
        '*[2]',
        '*e*',
        'GEAR 1',
        '?????',
        'a*b',
        '',
        '*ß*',
        '*1?',
        'nobody',
        '*été*',
        '寿命*',
        '?? 1',
        '*g lo*',
      ]),
    ),
    creator: maybe(random.of(['anna', '*nna', 'b?b', '*'])),
    note: maybe(random.of(['*TRY', '*bearing*second*', '*größe*', '??', '', 'N*', '*'])),
    study: maybe(random.of([null, ...STUDIES, 'unknown'])),
    type: maybe(random.of(TASK_TYPES)),
    priority: maybe(random.of(PRIORITIES)),
    statuses: TASK_STATUSES.filter(() => random.oneIn(3)),
    order: random.of(orders),
  };
}

/** The expected list, by comparing each task. */
function expectedOf(tasks: readonly Task[], query: TaskQuery): { ids: string[]; totalElements: number } {
  const fits = (pattern: string | undefined, text: string | null) =>
    pattern === undefined || (text !== null && matchesWildcard(pattern, text));
  const matching = tasks.filter(
    ({ id, name, creator, note, study, type, priority, status }) =>
      fits(query.id, id) &&
      fits(query.name?.toLowerCase(), name?.toLowerCase() ?? null) &&
      fits(query.creator, creator) &&
      fits(query.note?.toLowerCase(), note?.toLowerCase() ?? null) &&
      (query.study === undefined || query.study === (study?.id ?? null)) &&
      (query.type ?? type) === type &&
      (query.priority ?? priority) === priority &&
      (query.statuses.length === 0 || query.statuses.includes(status)),
  );
  const byStart = ({ startedAtMs }: Task) => startedAtMs ?? Number.NEGATIVE_INFINITY;
  if (query.order === 'NEWEST_FIRST') matching.reverse();
  if (query.order === 'NEXT_TO_RUN_FIRST') {
    matching.sort((a, b) => priorityRank(a.priority) - priorityRank(b.priority));
  }
  if (query.order === 'LONGEST_RUNNING_FIRST') {
    matching.sort((a, b) => (byStart(a) === byStart(b) ? 0 : byStart(a) - byStart(b)));
  }
  const page = matching.slice(query.page * query.size, (query.page + 1) * query.size);
  return { ids: page.map(({ id }) => id), totalElements: matching.length };
}

export function describeTaskLists(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  /** Performs a transition of a task, if it can. */
  async function happen(random: SeededRandom, { id, status, attempt }: Task): Promise<void> {
    const { queue, archive } = store;
    const ref = { taskId: id, attempt, instanceId: INSTANCE.id };
    const at = random.below(1000);
    if (status === 'WAITING') {
      if (random.oneIn(4)) await queue.cancel([id], ['WAITING'], at);
      else await queue.claim([{ taskId: id, instance: INSTANCE, startedAtMs: at }]);
    } else if (status === 'RUNNING') await endAttempt(random, ref, at);
    else if (random.oneIn(4)) await archive.remove([id]);
  }

  /** Ends an attempt that runs: it is lost, canceled, or ends by itself. */
  async function endAttempt(random: SeededRandom, ref: AttemptRef, endedAtMs: number): Promise<void> {
    const { queue } = store;
    const what = random.below(4);
    if (what === 0) await queue.requeue([{ ref, loss: 'LOSS' }]);
    else if (what === 1) await queue.cancel([ref.taskId], ['RUNNING'], endedAtMs);
    else {
      const ending = random.oneIn(3) ? ({ ...WELL, status: 'FAILED' } as const) : WELL;
      await queue.end([{ ref, ending, endedAtMs }]);
    }
  }

  /** The existing tasks, oldest first. */
  async function present(ids: readonly string[]): Promise<Task[]> {
    const found = await Promise.all(ids.map((id) => store.archive.find(id)));
    return found.flatMap((task) => task ?? []);
  }

  async function compare(random: SeededRandom, tasks: readonly Task[]): Promise<void> {
    const query = randomQuery(random, tasks);
    const { tasks: listed, totalElements } = await store.archive.list(query);
    const ids = listed.map(({ id }) => id);
    expect({ ids, totalElements }, JSON.stringify(query)).toEqual(expectedOf(tasks, query));
    const known = new Map(tasks.map((task) => [task.id, task]));
    expect(listed).toEqual(ids.map((id) => known.get(id)));
  }

  /** Inserts tasks, while transitions of earlier ones happen; gives their ids. */
  async function makeHistory(random: SeededRandom): Promise<string[]> {
    const ids: string[] = [];
    for (let at = 0; at < TASKS; at++) {
      const task = randomTask(random);
      await store.queue.insert([task]);
      ids.push(task.id);
      // Also the latest, so that its removal is tried, too.
      for (const each of await present([random.of(ids), ids.at(-1) ?? ''])) await happen(random, each);
      if (at % 40 === 0) await compare(random, await present(ids));
    }
    return ids;
  }

  describe.each([1, 2])('with a history by seed %d', (seed) => {
    it('lists are the same as a comparison of single tasks, before and after a restart', async () => {
      const random = seededRandom(seed);
      const tasks = await present(await makeHistory(random));
      for (let at = 0; at < QUERIES; at++) await compare(random, tasks);
      store = await store.reopen();
      for (let at = 0; at < QUERIES; at++) await compare(random, tasks);
    });
  });

  it('lists without tasks of studies are complete before the first point and after it', async () => {
    const listed = async (study: string | null) => {
      const { tasks, totalElements } = await store.archive.list({ page: 0, size: 9, statuses: [], study });
      const window = await store.archive.window({ after: null, size: 9, statuses: [], study });
      expect(window.tasks).toEqual(tasks);
      expect(window.counts).toMatchObject({ WAITING: totalElements, RUNNING: 0 });
      return tasks.map(({ name, study: of }) => [name, of?.point]);
    };
    await store.queue.insert([newTask({ name: 'alone' })]);
    expect(await listed(null)).toEqual([['alone', undefined]]);
    const [id = ''] = STUDIES;
    await store.queue.insert([
      newTask({ name: 'point', study: { id, point: 7 } }),
      newTask({ name: 'later' }),
    ]);
    expect(await listed(null)).toEqual([
      ['later', undefined],
      ['alone', undefined],
    ]);
    expect(await listed(id)).toEqual([['point', 7]]);
  });

  it('lists contain only matching tasks, even while tasks change', async () => {
    const waiting = Array.from({ length: 300 }, () => newTask());
    await store.queue.insert(waiting);
    const lists: Promise<unknown>[] = [];
    for (const { id } of waiting) {
      lists.push(
        store.archive.list({ page: 0, size: 300, statuses: ['WAITING'] }).then(({ tasks, totalElements }) => {
          expect(tasks.every(({ status }) => status === 'WAITING')).toBe(true);
          expect(tasks).toHaveLength(totalElements);
        }),
      );
      await store.queue.cancel([id], ['WAITING'], 1);
    }
    await Promise.all(lists);
    expect((await store.archive.list({ page: 0, size: 1, statuses: ['WAITING'] })).totalElements).toBe(0);
  });

  it('lists contain each task once when the latest is removed and another one is added', async () => {
    for (let round = 0; round < 5; round++) {
      const ref = await startTask(store, newTask({ name: `round ${round}` }));
      await store.queue.end([{ ref, ending: WELL, endedAtMs: 1 }]);
      const { tasks } = await store.archive.list({ page: 0, size: 9, statuses: [] });
      expect(tasks.map(({ name }) => name)).toEqual([`round ${round}`]);
      await store.archive.remove([ref.taskId]);
    }
  });
}
