import { expect, it } from 'vitest';
import { runningTaskWith } from '../../core/fixtures/task.js';
import type { Task } from '../../core/task.js';
import { ResultWaiters } from '../following/result-waiters.js';
import { TaskDetailsReader } from './task-details.js';
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

it('a task that is deleted before its files are read is not one without outputs', async () => {
  const nothing = { inputFiles: [], outputFiles: [], storedFiles: [], log: null };
  const archive = { filesOf: async () => nothing, find: async () => undefined };
  const files = { holdBriefly: () => undefined };
  const tasks = new Tasks({ archive, files } as unknown as TasksOptions);
  await expect(tasks.outputs('t')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  const found = [{ ...RUNNING, status: 'FINISHED' } as Task];
  const get = async (id: string) => found.shift() ?? (await tasks.get(id));
  const details = new TaskDetailsReader({ tasks: { get }, archive, files, webhooks: null } as never);
  await expect(details.outputs('t')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  expect(found).toEqual([]);
});
