/** The changes of tasks, as every store tells them. */

import type { TaskChange } from '@workbench-hub/hub/core/ports/task-changes';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import {
  claim,
  INSTANCE,
  newTask,
  type OpenStore,
  type StoreUnderTest,
  startTask,
  WELL,
} from './store-under-test.js';

export function describeTaskChanges(open: OpenStore): void {
  let store: StoreUnderTest;
  let start: string;
  let unwatch: () => void;
  beforeEach(async () => {
    store = await open();
    start = await store.changes.latest();
    unwatch = store.changes.watch(() => undefined);
  });
  afterEach(async () => {
    unwatch();
    await store.close();
  });

  const since = async (cursor: string, limit = 1000) => {
    const page = await store.changes.since(cursor, limit);
    if (!page) throw new Error(`nothing is known since ${cursor}`);
    return page;
  };
  /** All changes that are durable in the end. */
  const all = async (cursor: string, limit = 1000): Promise<TaskChange[]> => {
    const found: TaskChange[] = [];
    for (let at = cursor; ; ) {
      const page = await since(at, limit);
      found.push(...page.changes);
      at = page.cursor;
      if (page.isLast) return found;
    }
  };
  const statuses = (changes: readonly TaskChange[]) =>
    changes.map(({ taskId, task }) => [taskId, task?.status ?? '-']);

  it('begin with none', async () => {
    expect(await since(start)).toEqual({ changes: [], cursor: start, isLast: true });
  });

  it('tell of a task as it is now, once, at its last change', async () => {
    const [a, b] = [newTask(), newTask()];
    await store.queue.insert([a]);
    await store.queue.insert([b]);
    await store.queue.cancel([a.id], ['WAITING'], 5);
    const changes = await all(start);
    expect(statuses(changes)).toEqual([
      [b.id, 'WAITING'],
      [a.id, 'CANCELED'],
    ]);
    expect(changes[1]?.task).toEqual(await store.archive.find(a.id));
    expect(await all(changes[0]?.cursor ?? '')).toEqual([changes[1]]);
  });

  it('tell of each kind of change', async () => {
    const moved = async (change: () => Promise<unknown>) => {
      const before = await store.changes.latest();
      await change();
      return statuses(await eventually(async () => nonEmpty(await all(before))));
    };
    const task = newTask();
    expect(await moved(() => store.queue.insert([task]))).toEqual([[task.id, 'WAITING']]);
    let ref = { taskId: task.id, attempt: 0, instanceId: '' };
    const claimed = async () => {
      ref = await claim(store, task.id);
    };
    // A claim is durable soon, since somebody watches.
    expect(await moved(claimed)).toEqual([[task.id, 'RUNNING']]);
    expect(await moved(() => store.queue.requeue([{ ref, loss: 'CRASH' }]))).toEqual([[task.id, 'WAITING']]);
    await moved(claimed);
    const ended = { ref, ending: WELL, endedAtMs: 9 };
    expect(await moved(() => store.queue.end([ended]))).toEqual([[task.id, 'FINISHED']]);
    expect(await moved(() => store.archive.remove([task.id]))).toEqual([[task.id, '-']]);
  });

  it('are in the order of the calls that made them one after the other, of whatever kind', async () => {
    const expected: [string, string][] = [];
    for (let round = 0; round < 20; round++) {
      const [canceled, removed, kept] = [newTask(), newTask(), newTask()];
      await store.queue.insert([canceled]);
      await store.queue.insert([removed]);
      await store.queue.cancel([canceled.id, removed.id], ['WAITING'], 5);
      await store.queue.insert([kept]);
      await store.archive.remove([removed.id]);
      expected.push([canceled.id, 'CANCELED'], [kept.id, 'WAITING'], [removed.id, '-']);
    }
    expect(statuses(await all(start))).toEqual(expected);
    const inPages = new Map(statuses(await all(start, 7)) as [string, string][]);
    expect([...inPages.keys()].sort()).toEqual(expected.map(([id]) => id).sort());
  });

  it('tell nothing of what did not take place', async () => {
    const task = newTask();
    await store.queue.insert([task]);
    const before = await store.changes.latest();
    const ref = { taskId: task.id, attempt: 1, instanceId: 'sim-1' };
    await store.queue.requeue([{ ref, loss: 'LOSS' }]);
    await store.queue.end([{ ref, ending: WELL, endedAtMs: 9 }]);
    await store.archive.remove([task.id, 'nobody']);
    expect(await store.changes.latest()).toBe(before);
  });

  it('come in pages, and each of them continues where the last has ended', async () => {
    const tasks = Array.from({ length: 25 }, () => newTask());
    for (const task of tasks) await store.queue.insert([task]);
    await store.queue.cancel(
      tasks.map(({ id }) => id),
      ['WAITING'],
      5,
    );
    const first = await since(start, 10);
    expect(first.isLast).toBe(false);
    expect(first.changes.length).toBeLessThanOrEqual(10);
    const states = new Map(statuses(await all(start, 10)) as [string, string][]);
    expect([...states]).toHaveLength(25);
    expect(new Set(states.values())).toEqual(new Set(['CANCELED']));
  });

  it('are the same after the store was reopened', async () => {
    const ref = await startTask(store);
    const gone = newTask();
    await store.queue.insert([gone]);
    await store.queue.cancel([gone.id], ['WAITING'], 5);
    await store.archive.remove([gone.id]);
    const before = await eventually(async () => {
      const changes = await all(start);
      return changes.some(({ task }) => task?.status === 'RUNNING') && changes;
    });
    const latest = await store.changes.latest();
    store = await store.reopen();
    unwatch = store.changes.watch(() => undefined);
    expect(await all(start)).toEqual(before);
    expect(await store.changes.latest()).toBe(latest);
    expect(statuses(before)).toContainEqual([gone.id, '-']);
    await store.queue.end([{ ref, ending: WELL, endedAtMs: 9 }]);
    expect(statuses(await all(latest))).toEqual([[ref.taskId, 'FINISHED']]);
  });

  it('are told to watchers until they cease', async () => {
    let told = 0;
    const cease = store.changes.watch(() => told++);
    await store.queue.insert([newTask()]);
    await eventually(() => told > 0);
    cease();
    const before = told;
    await store.queue.insert([newTask()]);
    await eventually(async () => (await all(start)).length === 2);
    expect(told).toBe(before);
  });

  it('cannot be told since an invalid place', async () => {
    await store.queue.insert([newTask()]);
    const latest = await store.changes.latest();
    for (const cursor of ['', 'x', `${latest}0`, `x${latest}`, latest.replace(/\d+$/, '-1')]) {
      expect(await store.changes.since(cursor, 10), cursor).toBeNull();
    }
  });

  it('miss nothing while tasks change at the same time', async () => {
    const seen = new Map<string, string>();
    let cursor = start;
    let isDone = false;
    /** Reads the next page; tells whether it is the last for now. */
    const readPage = async () => {
      const page = await since(cursor, 7);
      for (const [id, status] of statuses(page.changes) as [string, string][]) seen.set(id, status);
      cursor = page.cursor;
      return page.isLast;
    };
    const reading = (async () => {
      for (let wasDone = false; ; wasDone = isDone) {
        if (!(await readPage())) continue;
        if (wasDone && cursor === (await store.changes.latest())) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const expected = new Map<string, string>();
    const live = async (at: number) => {
      const ref = await startTask(store, newTask(), { ...INSTANCE, id: `sim-${at}` });
      if (at % 3 === 0) await store.queue.requeue([{ ref, loss: 'LOSS' }]);
      else await store.queue.end([{ ref, ending: WELL, endedAtMs: 9 }]);
      if (at % 3 === 1) await store.archive.remove([ref.taskId]);
      expected.set(ref.taskId, ['WAITING', '-', 'FINISHED'][at % 3] as string);
    };
    await Promise.all(Array.from({ length: 300 }, (_, at) => live(at)));
    isDone = true;
    await reading;
    expect(seen).toEqual(expected);
  });
}

function nonEmpty<T>(items: readonly T[]): readonly T[] | undefined {
  return items.length > 0 ? items : undefined;
}
