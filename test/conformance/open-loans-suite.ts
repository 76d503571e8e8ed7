import type { Loan } from '@workbench-hub/hub/core/task';
import { NO_FILES } from '@workbench-hub/hub/core/task';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newTask, type OpenStore, type StoreUnderTest, startTask } from './store-under-test.js';

const LOAN: Loan = {
  upstream: 'hq',
  ref: { taskId: '019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77', attempt: 3, instanceId: 'berlin:press' },
  proof: 'proof',
  origin: { hub: 'https://hq.example.com', user: 'anna' },
};

export function describeOpenLoans(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const loaned = () =>
    newTask({ loan: LOAN, requirement: { version: null, labels: [], instanceId: 'press' } });
  const ended = async () => {
    const task = loaned();
    const ref = await startTask(store, task);
    const ending = {
      status: 'FINISHED' as const,
      batchExecutionStatus: null,
      message: null,
      files: NO_FILES,
    };
    expect(await store.queue.end([{ ref, ending, endedAtMs: 50 }])).toEqual([true]);
    return task;
  };
  const openIds = async () => (await store.loans.all()).map(({ id }) => id);

  describe('open loans', () => {
    it('are new tasks of other hubs, with all that they say, over a restart', async () => {
      const [own, loan] = [newTask(), loaned()];
      await store.queue.insert([own, loan]);
      store = await store.reopen();
      const { job: _, ...task } = loan;
      expect(await store.loans.all()).toEqual([task]);
      expect((await store.archive.find(own.id))?.loan).toBeNull();
    });

    it('go on as their tasks do, until they are closed', async () => {
      const task = await ended();
      expect(await store.loans.all()).toMatchObject([{ id: task.id, status: 'FINISHED', loan: LOAN }]);
      await store.loans.close([task.id]);
      expect(await openIds()).toEqual([]);
      store = await store.reopen();
      expect(await openIds()).toEqual([]);
      expect(await store.archive.find(task.id)).toMatchObject({ status: 'FINISHED', loan: LOAN });
    });

    it('keep their tasks, which are neither removed nor among those that are due', async () => {
      const task = await ended();
      expect(await store.archive.remove([task.id])).toEqual([false]);
      expect(await store.archive.endedBefore(1000, 10)).toEqual([]);
      await store.loans.close([task.id]);
      expect(await store.archive.endedBefore(1000, 10)).toEqual([task.id]);
      expect(await store.archive.remove([task.id])).toEqual([true]);
      expect(await openIds()).toEqual([]);
    });

    it('are closed once, and one that is unknown is no fault', async () => {
      const [task, other] = [await ended(), loaned()];
      await store.queue.insert([other]);
      await store.loans.close([task.id, task.id, newTask().id]);
      await store.loans.close([task.id]);
      expect(await openIds()).toEqual([other.id]);
    });
  });
}
