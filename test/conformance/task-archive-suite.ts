import type { TaskQuery, TaskWindowQuery } from '@workbench-hub/hub/core/ports/task-archive';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileOf, newTask, type OpenStore, type StoreUnderTest, startTask, WELL } from './store-under-test.js';

/** Reading, listing and removing. */
export function describeTaskArchive(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const list = async (query: Partial<TaskQuery> = {}) =>
    store.archive.list({ page: 0, size: 100, statuses: [], ...query });
  const names = async (query: Partial<TaskQuery> = {}) => (await list(query)).tasks.map(({ name }) => name);

  async function end(ref: Awaited<ReturnType<typeof startTask>>, endedAtMs: number) {
    await store.queue.end([{ ref, ending: WELL, endedAtMs }]);
  }

  describe('tasks with an input', () => {
    const content = fileOf('model');
    const tasksWith = async (limit: number, encrypted?: true) => {
      const { tasks, isComplete } = await store.archive.withInput(
        { ...content, ...(encrypted ? { encrypted } : {}) },
        limit,
      );
      return { names: tasks.map(({ name }) => name), isComplete };
    };

    it('are found newest first, and said to be all or not', async () => {
      const insert = (name: string, ...scripts: readonly FileRef[]) => {
        const type = 'EXECUTE_BATCH_JOB';
        const job = { type, model: null, scripts, additionalFiles: [], variables: [] } as const;
        return store.queue.insert([newTask({ name, type, job })]);
      };
      for (const name of ['a', 'b', 'c']) await insert(name, content, content);
      await insert('other', fileOf('another'));
      await insert('encrypted', { ...content, encrypted: true });
      expect(await tasksWith(4)).toEqual({ names: ['c', 'b', 'a'], isComplete: true });
      expect(await tasksWith(3)).toEqual({ names: ['c', 'b', 'a'], isComplete: true });
      expect(await tasksWith(2)).toEqual({ names: ['c', 'b'], isComplete: false });
      expect(await tasksWith(2, true)).toEqual({ names: ['encrypted'], isComplete: true });
    });
  });

  describe('list', () => {
    it('returns the newest request first, in pages', async () => {
      const tasks = Array.from({ length: 7 }, (_, at) => newTask({ name: `n${at}`, requestedAtMs: 5 }));
      for (const task of tasks) await store.queue.insert([task]);
      expect(await names({ size: 3 })).toEqual(['n6', 'n5', 'n4']);
      expect(await names({ size: 3, page: 1 })).toEqual(['n3', 'n2', 'n1']);
      expect(await names({ size: 3, page: 2 })).toEqual(['n0']);
      expect(await list({ size: 3, page: 3 })).toEqual({ tasks: [], totalElements: 7 });
      expect((await list({ size: 3, page: 1 })).totalElements).toBe(7);
    });

    it('returns an empty page far beyond the end', async () => {
      await store.queue.insert([newTask()]);
      expect(await list({ page: 999_999_999_999_999, size: 2000 })).toEqual({ tasks: [], totalElements: 1 });
    });

    it('returns nothing for an empty store', async () => {
      expect(await list()).toEqual({ tasks: [], totalElements: 0 });
    });

    it('returns whole tasks', async () => {
      const { job, ...task } = newTask({ name: 'whole', classifiers: [{ type: 'VERSION', value: '9' }] });
      await store.queue.insert([{ ...task, job }]);
      expect((await list()).tasks).toEqual([task]);
    });

    it('filters by type, priority and statuses', async () => {
      await store.queue.insert([
        newTask({ name: 'batch', type: 'EXECUTE_BATCH_JOB' }),
        newTask({ name: 'urgent', priority: 'HIGHEST' }),
        newTask({ name: 'plain' }),
      ]);
      await startTask(store, newTask({ name: 'running' }));
      await end(await startTask(store, newTask({ name: 'ended' })), 1);
      expect(await names({ type: 'EXECUTE_BATCH_JOB' })).toEqual(['batch']);
      expect(await names({ priority: 'HIGHEST' })).toEqual(['urgent']);
      expect(await names({ statuses: ['RUNNING'] })).toEqual(['running']);
      expect(await names({ statuses: ['FINISHED', 'RUNNING'] })).toEqual(['ended', 'running']);
      expect(await names({ statuses: ['CANCELED'] })).toEqual([]);
      expect(await names({ statuses: ['WAITING'], priority: 'NORMAL', type: 'SIMULATE_WORK' })).toEqual([
        'plain',
      ]);
      expect((await list({ statuses: ['WAITING'], size: 1 })).totalElements).toBe(3);
    });

    it('filters by id and creator as a whole, with case, with wildcards', async () => {
      const anna = newTask({ name: 'a', creator: 'anna' });
      await store.queue.insert([anna, newTask({ name: 'b', creator: 'Anna' }), newTask({ name: 'c' })]);
      expect(await names({ creator: 'anna' })).toEqual(['a']);
      expect(await names({ creator: '?nna' })).toEqual(['b', 'a']);
      expect(await names({ creator: 'ann' })).toEqual([]);
      expect(await names({ creator: '*' })).toEqual(['b', 'a']);
      expect(await names({ id: anna.id })).toEqual(['a']);
      expect(await names({ id: `${anna.id.slice(0, 35)}?` })).toContain('a');
      expect(await names({ id: anna.id.slice(0, 35) })).toEqual([]);
      expect(await names({ id: '*' })).toHaveLength(3);
    });

    it.each([
      ['run 7', ['Run 7']],
      ['RUN*', ['run [a-z]', 'Run 7']],
      ['run ?', ['Run 7']],
      ['*7', ['Run 7']],
      ['run [a-z]', ['run [a-z]']],
      ['*[a-z]', ['run [a-z]']],
      ['*[*', ['run [a-z]']],
      ['größe*', ['GRÖßE']],
      ['GRÖß?', ['GRÖßE']],
      ['100%', ['100%']],
      ['1_0%', []],
      ['*\\*', ['a\\b']],
      ["it's", ["it's"]],
      ['*', ["it's", 'a\\b', '100%', 'GRÖßE', 'run [a-z]', 'Run 7']],
      ['', []],
      ['run', []],
    ])('filters by name %j, as a whole, without case', async (name, expected) => {
      const known = ['Run 7', 'run [a-z]', 'GRÖßE', '100%', 'a\\b', "it's"];
      await store.queue.insert([...known.map((each) => newTask({ name: each })), newTask()]);
      expect(await names({ name })).toEqual(expected);
    });

    it('is not slowed by a pattern with many wildcards', async () => {
      await store.queue.insert([newTask({ name: 'a'.repeat(1000) })]);
      const began = performance.now();
      expect(await names({ name: `${'*a'.repeat(100)}b` })).toEqual([]);
      expect(performance.now() - began).toBeLessThan(2000);
    });
  });

  describe('window', () => {
    const window = async (query: Partial<TaskWindowQuery> = {}) => {
      const { tasks, ...rest } = await store.archive.window({ after: null, size: 2, statuses: [], ...query });
      return { names: tasks.map(({ name }) => name), ...rest };
    };

    it('has the tasks after a place, and counts all that match but for their status', async () => {
      for (const name of ['a 1', 'b 1', 'a 2', 'a 3']) await store.queue.insert([newTask({ name })]);
      await end(await startTask(store, newTask({ name: 'a 4' })), 1);
      const counts = { WAITING: 4, RUNNING: 0, FINISHED: 1, FAILED: 0, CANCELED: 0 };
      const first = await window();
      expect(first).toEqual({ names: ['a 4', 'a 3'], next: expect.any(String), counts });
      const second = await window({ after: first.next });
      expect(second).toEqual({ names: ['a 2', 'b 1'], next: expect.any(String), counts });
      expect(await window({ after: second.next })).toEqual({ names: ['a 1'], next: null, counts });
      const named = await window({ name: 'A*', statuses: ['WAITING'] });
      expect(named).toEqual({
        names: ['a 3', 'a 2'],
        next: expect.any(String),
        counts: { ...counts, WAITING: 3 },
      });
      expect(await window({ statuses: ['FINISHED'] })).toEqual({ names: ['a 4'], next: null, counts });
    });

    it('is refused for an invalid place', async () => {
      await expect(window({ after: 'x' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    });
  });

  describe('files', () => {
    it('are those of the completion, not those of the job', async () => {
      const script = fileOf('script');
      const ref = await startTask(
        store,
        newTask({
          type: 'EXECUTE_BATCH_JOB',
          job: {
            type: 'EXECUTE_BATCH_JOB',
            model: null,
            scripts: [script],
            additionalFiles: [],
            variables: [],
          },
        }),
      );
      expect(await store.archive.filesOf(ref.taskId)).toEqual({ outputFiles: [], log: null });
      const outputFiles = [{ path: 'copy of the script', ...script }];
      await store.queue.end([{ ref, ending: { ...WELL, files: { outputFiles, log: null } }, endedAtMs: 1 }]);
      expect(await store.archive.filesOf(ref.taskId)).toEqual({ outputFiles, log: null });
      expect(await store.archive.filesOf('nobody')).toEqual({ outputFiles: [], log: null });
    });
  });

  describe('remove', () => {
    it('removes ended tasks only, with their files', async () => {
      const waiting = newTask();
      await store.queue.insert([waiting]);
      const running = await startTask(store);
      const ended = await startTask(store);
      const files = { outputFiles: [{ path: 'a', ...fileOf('a') }], log: fileOf('log') };
      await store.queue.end([{ ref: ended, ending: { ...WELL, files }, endedAtMs: 1 }]);
      expect(await store.inlineBlobs.referenced([fileOf('a').digest], false)).toEqual(
        new Set([fileOf('a').digest]),
      );
      const all = [waiting.id, running.taskId, ended.taskId, 'nobody'];
      expect(await store.archive.remove(all)).toEqual([false, false, true, false]);
      expect(await store.archive.find(ended.taskId)).toBeUndefined();
      expect(await store.archive.filesOf(ended.taskId)).toEqual({ outputFiles: [], log: null });
      expect(await store.inlineBlobs.referenced([fileOf('a').digest, fileOf('log').digest], false)).toEqual(
        new Set(),
      );
      expect((await list()).totalElements).toBe(2);
    });
  });

  describe('endedBefore', () => {
    it('returns the ids of tasks that ended before a given time, oldest first', async () => {
      const refs = [await startTask(store), await startTask(store), await startTask(store)];
      const [a, b, c] = refs.map(({ taskId }) => taskId);
      for (const [at, ref] of refs.entries()) await end(ref, [300, 100, 200][at] ?? 0);
      await startTask(store);
      expect(await store.archive.endedBefore(300, 10)).toEqual([b, c]);
      expect(await store.archive.endedBefore(301, 10)).toEqual([b, c, a]);
      expect(await store.archive.endedBefore(301, 1)).toEqual([b]);
      expect(await store.archive.endedBefore(100, 10)).toEqual([]);
    });
  });

  it('the archive is the same after the store was reopened', async () => {
    const ref = await startTask(store, newTask({ name: 'kept', creator: 'anna' }));
    await store.queue.end([
      {
        ref,
        ending: { ...WELL, files: { outputFiles: [{ path: 'a', ...fileOf('a') }], log: null } },
        endedAtMs: 9,
      },
    ]);
    const before = [await store.archive.find(ref.taskId), await store.archive.filesOf(ref.taskId)];
    store = await store.reopen();
    expect([await store.archive.find(ref.taskId), await store.archive.filesOf(ref.taskId)]).toEqual(before);
    expect(await names()).toEqual(['kept']);
  });
}
