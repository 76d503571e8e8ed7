import { expect, it } from 'vitest';
import { runningTaskWith } from '../../core/fixtures/task.js';
import type { Task } from '../../core/task.js';
import { ResultWaiters } from '../following/result-waiters.js';
import { Tasks, type TasksOptions } from './tasks.js';

const RUNNING = runningTaskWith({ id: 't' });

// A store over a network answers late; SQLite never leaves this gap.
it('a task that ends during the read of the store is not missed', async () => {
  const looks: Task[] = [RUNNING, { ...RUNNING, status: 'FINISHED', endedAtMs: 3 }];
  const resultWaiters = new ResultWaiters({
    after: () => ({ cancel: () => undefined }),
    soon: () => undefined,
  });
  const find = async () => {
    const found = looks.shift();
    if (found === RUNNING) resultWaiters.notify('t');
    return found;
  };
  const tasks = new Tasks({ archive: { find }, resultWaiters } as unknown as TasksOptions);
  const { status } = await tasks.awaitEnd('t', 'SIMULATE_WORK', 60_000, () => new AbortController().signal);
  expect(status).toBe('FINISHED');
  expect(resultWaiters.waiting).toBe(0);
});
