import type { GroupPage, QueueGroup } from '@workbench-hub/hub/core/ports/task-queue';
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ANYTHING,
  claim,
  fileOf,
  INSTANCE,
  newTask,
  type OpenStore,
  type StoreUnderTest,
  startTask,
  WELL,
} from './store-under-test.js';

/** Waiting tasks: insertion, groups, heads, claims. */
export function describeTaskQueue(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const key = (version: string | null, ...labels: string[]) => requirementKey({ version, labels });

  /** The groups in which tasks wait, from pages of one. */
  const waitingGroups = async (maxKeyBytes = 1000) => {
    const groups: QueueGroup[] = [];
    let afterGroupId: number | null = 0;
    while (afterGroupId !== null) {
      const page: GroupPage = await store.queue.waitingGroups({ afterGroupId, limit: 1, maxKeyBytes });
      groups.push(...page.groups);
      afterGroupId = page.nextAfterGroupId;
    }
    return groups;
  };
  const waitingKeys = async () => (await waitingGroups()).map((group) => group.requirementKey);
  const groupIdsOf = async (...keys: string[]) => {
    const groups = await waitingGroups();
    return keys.map((asked) => groups.find((group) => group.requirementKey === asked)?.groupId ?? 0);
  };
  const headsOf = async (group: string, limit: number) => {
    const [groupId = 0] = await groupIdsOf(group);
    return store.queue.heads([{ groupId, limit }]);
  };
  const ids = (tasks: readonly { taskId: string }[]) => tasks.map(({ taskId }) => taskId);

  describe('tasks with models', () => {
    it('wait in a group for each type of model, and keep it while they run', async () => {
      const requiring = (modelType?: string) =>
        newTask({ requirement: { version: null, labels: ['gears'], modelType } });
      const [none, inp, mjcf] = [requiring(), requiring('INP'), requiring('MJCF')];
      await store.queue.insert([none, inp, mjcf]);
      const keys = ['INP', 'MJCF'].map((modelType) =>
        requirementKey({ version: null, labels: ['gears'], modelType }),
      );
      expect((await waitingKeys()).sort()).toEqual([...keys, key(null, 'gears')].sort());
      expect(ids(await headsOf(keys[0] ?? '', 2))).toEqual([inp.id]);
      await claim(store, mjcf.id);
      expect((await store.archive.find(mjcf.id))?.requirement).toEqual(mjcf.requirement);
    });
  });

  describe('insert', () => {
    it('stores all fields of a task', async () => {
      const task = newTask({
        type: 'EXECUTE_BATCH_JOB',
        name: 'Größe "7"',
        note: 'Second try,\nwith the softer \0 bearing.',
        creator: 'anna',
        classifiers: [
          { type: 'VERSION', value: '9.*' },
          { type: 'LABLES', value: 'Linux, gears' },
        ],
        requirement: { version: '9.*', labels: ['gears', 'linux'] },
        priority: 'LOWEST',
        timeLimitS: 2_592_000,
        requestId: 'request-7',
        traceContext: '00-trace-span-01',
        ignoredFields: 'timeLimt (did you mean timeLimit?)',
        study: { id: 'study', point: 1_000_000 },
        job: {
          type: 'EXECUTE_BATCH_JOB',
          model: { kind: 'BLOB', path: 'model.wbpz', ...fileOf('model') },
          scripts: [fileOf('script')],
          additionalFiles: [{ path: 'a/b.txt', ...fileOf('b') }],
          variables: [{ key: 'stiffness', value: '1 200' }],
        },
      });
      await store.queue.insert([task]);
      const { job, ...rest } = task;
      expect(await store.archive.find(task.id)).toEqual(rest);
      const [claimed] = await store.queue.claim([{ taskId: task.id, instance: INSTANCE, startedAtMs: 1 }]);
      const running = { ...rest, status: 'RUNNING', startedAtMs: 1, attempt: 1, instance: INSTANCE };
      expect(claimed).toEqual({
        ref: { taskId: task.id, attempt: 1, instanceId: 'sim-1' },
        agentId: 'agent-1',
        task: running,
        job,
      });
      expect(await store.archive.find(task.id)).toEqual(running);
    });

    it('stores all tasks of a list or none', async () => {
      const first = newTask();
      await store.queue.insert([first]);
      const fresh = newTask();
      await expect(store.queue.insert([fresh, first])).rejects.toThrow();
      expect(await store.archive.find(fresh.id)).toBeUndefined();
      await store.queue.insert([fresh]);
      expect(await store.archive.find(fresh.id)).toBeDefined();
    });

    it('is not affected by the failure of a simultaneous call', async () => {
      const taken = newTask();
      await store.queue.insert([taken]);
      const groups = ['a', 'b', 'c'].map((label) =>
        newTask({ requirement: { version: null, labels: [label] } }),
      );
      const results = await Promise.allSettled(
        [groups[0], taken, groups[1], taken, groups[2]].map((task) => store.queue.insert([task as never])),
      );
      expect(results.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'fulfilled',
        'rejected',
        'fulfilled',
      ]);
      expect((await waitingKeys()).sort()).toEqual(
        [ANYTHING, key(null, 'a'), key(null, 'b'), key(null, 'c')].sort(),
      );
    });
  });

  describe('insert with a key', () => {
    it('inserts one task of a creator, however many ask for it at the same time', async () => {
      const insert = (creator: string, key: string) => store.queue.insertOnce(newTask({ creator }), key);
      const inserted = await Promise.all(
        ['anna', 'anna', 'anna', 'udo', 'udo', 'anna'].map((creator) => insert(creator, 'k')),
      );
      const [ofAnna, ofUdo] = [inserted[0]?.taskId, inserted[3]?.taskId];
      expect(inserted.map(({ taskId }) => taskId)).toEqual([ofAnna, ofAnna, ofAnna, ofUdo, ofUdo, ofAnna]);
      expect(ofUdo).not.toBe(ofAnna);
      expect((await insert('anna', 'other')).taskId).not.toBe(ofAnna);
      expect(ids(await headsOf(ANYTHING, 9))).toHaveLength(3);
    });
  });

  describe('groups and heads', () => {
    it('are returned for waiting tasks, each group once', async () => {
      expect(await waitingKeys()).toEqual([]);
      const gears = newTask({ requirement: { version: '9.*', labels: ['gears'] } });
      await store.queue.insert([newTask(), newTask(), gears]);
      expect((await waitingKeys()).sort()).toEqual([ANYTHING, key('9.*', 'gears')].sort());
      await claim(store, gears.id);
      expect(await waitingKeys()).toEqual([ANYTHING]);
    });

    it('have the first tasks of each group, by priority, then by time of the request', async () => {
      const tasks = [
        newTask({ priority: 'LOW' }),
        newTask({ priority: 'NORMAL' }),
        newTask({ priority: 'HIGHEST' }),
        newTask({ priority: 'NORMAL' }),
        newTask({ priority: 'HIGH', requirement: { version: '8', labels: [] } }),
      ];
      for (const task of tasks) await store.queue.insert([task]);
      const [low, first, highest, second, other] = tasks.map(({ id }) => id);
      const [anything = 0, eight = 0] = await groupIdsOf(ANYTHING, key('8'));
      const heads = await store.queue.heads([
        { groupId: anything, limit: 3 },
        { groupId: eight, limit: 9 },
        { groupId: 99, limit: 9 },
      ]);
      expect(ids(heads.filter(({ groupId }) => groupId === anything))).toEqual([highest, first, second]);
      expect(heads.filter(({ groupId }) => groupId === eight)).toEqual([
        {
          taskId: other,
          groupId: eight,
          requirementKey: key('8'),
          priorityRank: 1,
          sequence: expect.any(Number),
          timeLimitS: null,
        },
      ]);
      expect(heads).toHaveLength(4);
      expect(ids(heads)).not.toContain(low);
      const sequenceOf = (id: string | undefined) => heads.find(({ taskId }) => taskId === id)?.sequence ?? 0;
      expect(sequenceOf(first)).toBeLessThan(sequenceOf(second));
    });

    it('keep the order of a list that was inserted at once', async () => {
      const tasks = Array.from({ length: 50 }, () => newTask());
      await store.queue.insert(tasks);
      const heads = await headsOf(ANYTHING, 50);
      expect(ids(heads)).toEqual(tasks.map(({ id }) => id));
    });

    it('contain new tasks when the callback names them, with the same rank', async () => {
      const tasks = [newTask({ priority: 'LOW' }), newTask({ requirement: { version: '8', labels: [] } })];
      let looked: Promise<unknown> | undefined;
      let said: readonly unknown[] = [];
      await store.queue.insert(tasks, (waiting) => {
        said = waiting;
        looked = store.queue.heads(waiting.map(({ groupId }) => ({ groupId, limit: 9 })));
      });
      expect(said).toEqual(await looked);
      expect(said).toMatchObject(tasks.map(({ id }) => ({ taskId: id })));
    });

    it('are not announced by the callback when the insert fails', async () => {
      const task = newTask();
      await store.queue.insert([task]);
      let isSaid = false;
      await expect(
        store.queue.insert([task], () => {
          isSaid = true;
        }),
      ).rejects.toThrow();
      expect(isSaid).toBe(false);
    });

    it('have a requeued task at its old place', async () => {
      const task = newTask();
      const ref = await startTask(store, task);
      const younger = newTask();
      await store.queue.insert([younger]);
      await store.queue.requeue([{ ref, loss: 'CRASH' }]);
      const heads = await headsOf(ANYTHING, 9);
      expect(ids(heads)).toEqual([task.id, younger.id]);
    });

    it('leave out groups with keys beyond the limit', async () => {
      await store.queue.insert([newTask(), newTask({ requirement: { version: null, labels: ['gears'] } })]);
      const groups = await waitingGroups(ANYTHING.length);
      expect(groups.map((group) => group.requirementKey)).toEqual([ANYTHING]);
    });

    it('tell which of some tasks wait', async () => {
      const [task, running] = [newTask(), newTask()];
      await store.queue.insert([task, running]);
      await claim(store, running.id);
      expect(await store.queue.waiting([running.id, task.id, 'none'])).toEqual(await headsOf(ANYTHING, 9));
    });

    it('allow counting the tasks ahead, up to a limit', async () => {
      await store.queue.insert([newTask(), newTask(), newTask()]);
      const groupIds = await groupIdsOf(ANYTHING);
      const ahead = (limit: number) => store.queue.countAhead(groupIds, { newWithPriorityRank: 4 }, limit);
      expect([await ahead(2), await ahead(3), await ahead(9)]).toEqual([2, 3, 3]);
    });

    it('allow counting the tasks that a time limit lets end within a time', async () => {
      const limits = [null, 60, 61, 600];
      await store.queue.insert(limits.map((timeLimitS) => newTask({ timeLimitS })));
      const running = newTask();
      await store.queue.insert([running]);
      await claim(store, running.id);
      const [groupId = 0] = await groupIdsOf(ANYTHING);
      const within = (timeLimitS: number, limit = 9) =>
        store.queue.countWithin(groupId, { timeLimitS, withoutLimit: true }, limit);
      const limitedWithin = (timeLimitS: number) =>
        store.queue.countWithin(groupId, { timeLimitS, withoutLimit: false }, 9);
      expect([await within(59), await within(60), await within(599), await within(600)]).toEqual([
        1, 2, 3, 4,
      ]);
      expect([await limitedWithin(59), await limitedWithin(60)]).toEqual([0, 1]);
      expect(await within(600, 3)).toBe(3);
      expect(await store.queue.countWithin(groupId + 1, { timeLimitS: 600, withoutLimit: true }, 9)).toBe(0);
      expect((await headsOf(ANYTHING, 9)).map(({ timeLimitS }) => timeLimitS)).toEqual(limits);
    });

    it('allow counting them among the first tasks alone, in the order of the queue', async () => {
      const limits = [600, 600, 60, 60];
      await store.queue.insert(limits.map((timeLimitS) => newTask({ timeLimitS })));
      await store.queue.insert([newTask({ timeLimitS: 60, priority: 'HIGHEST' })]);
      const [groupId = 0] = await groupIdsOf(ANYTHING);
      const within = (limit: number) =>
        store.queue.countWithin(groupId, { timeLimitS: 60, withoutLimit: true }, limit);
      expect(await Promise.all([1, 3, 4, 5].map(within))).toEqual([1, 1, 2, 3]);
    });

    it('allow counting the tasks that a time limit lets end within a time by their creators', async () => {
      const creators = ['anna', null, 'anna', 'vera'];
      await store.queue.insert(creators.map((creator) => newTask({ creator, timeLimitS: 60 })));
      await store.queue.insert([newTask({ creator: 'vera' })]);
      const [groupId = 0] = await groupIdsOf(ANYTHING);
      const counts = async (timeLimitS: number, withoutLimit: boolean, limit = 9) =>
        Object.fromEntries(await store.queue.countByCreator(groupId, { timeLimitS, withoutLimit }, limit));
      expect(await counts(60, true)).toEqual({ '': 1, anna: 2, vera: 2 });
      expect(await counts(60, false)).toEqual({ '': 1, anna: 2, vera: 1 });
      expect(await counts(60, true, 2)).toEqual({ '': 1, anna: 1, vera: 2 });
      expect(await counts(60, false, 1)).toEqual({ anna: 1 });
      expect(await counts(60, true, 4)).toEqual({ '': 1, anna: 2, vera: 2 });
      expect(await counts(59, false)).toEqual({});
    });

    it('are removed without tasks, and their ids are never reused', async () => {
      const groupWith = (label: string) => newTask({ requirement: { version: null, labels: [label] } });
      const tasks = ['a', 'b', 'c', 'd'].map(groupWith);
      const [a, b, , d] = tasks.map(({ id }) => id) as [string, string, string, string];
      await store.queue.insert(tasks);
      const [, , idOfC = 0, idOfD = 0] = (await waitingGroups()).map(({ groupId }) => groupId);
      for (const id of [a, b, d]) {
        await store.queue.cancel([id], ['WAITING'], 1);
        if (id !== b) await store.archive.remove([id]);
      }
      let afterGroupId: number | null = 0;
      let pages = 0;
      for (; afterGroupId !== null; pages++) {
        afterGroupId = await store.queue.removeUnusedGroups({ afterGroupId, limit: 1 });
      }
      expect(pages).toBeGreaterThanOrEqual(4);
      await store.queue.insert([groupWith('a'), groupWith('d'), groupWith('b')]);
      const groups = await waitingGroups();
      const ids = new Map(groups.map((group) => [group.requirementKey, group.groupId]));
      expect(ids.get(key(null, 'a'))).toBe(idOfD + 1);
      expect(ids.get(key(null, 'd'))).toBe(idOfD);
      expect(ids.get(key(null, 'c'))).toBe(idOfC);
      expect(ids.get(key(null, 'b'))).toBe(idOfC - 1);
    });

    it('are empty for no group', async () => {
      await store.queue.insert([newTask()]);
      expect(await store.queue.heads([])).toEqual([]);
    });
  });

  describe('claim', () => {
    it('starts a waiting task once', async () => {
      const task = newTask();
      await store.queue.insert([task]);
      const asked = { taskId: task.id, instance: INSTANCE, startedAtMs: 7 };
      const both = await Promise.all([store.queue.claim([asked]), store.queue.claim([asked])]);
      expect(both.flat()).toHaveLength(1);
      expect(await store.queue.claim([asked])).toEqual([]);
      expect(await store.archive.find(task.id)).toMatchObject({
        status: 'RUNNING',
        attempt: 1,
        startedAtMs: 7,
        instance: INSTANCE,
      });
    });

    it('starts those of a list that wait, and skips the others', async () => {
      const running = await startTask(store);
      const waiting = newTask();
      await store.queue.insert([waiting]);
      const asked = [running.taskId, 'nobody', waiting.id].map((taskId) => ({
        taskId,
        instance: INSTANCE,
        startedAtMs: 1,
      }));
      const claimed = await store.queue.claim(asked);
      expect(claimed.map(({ ref }) => ref.taskId)).toEqual([waiting.id]);
    });

    it('counts the attempts', async () => {
      const first = await startTask(store);
      await store.queue.requeue([{ ref: first, loss: 'RETURN' }]);
      expect(await claim(store, first.taskId, { ...INSTANCE, id: 'sim-2' })).toEqual({
        taskId: first.taskId,
        attempt: 2,
        instanceId: 'sim-2',
      });
    });
  });

  describe('a running task', () => {
    it('is found by its agent', async () => {
      const mine = await startTask(store);
      const other = await startTask(store, newTask(), { ...INSTANCE, id: 'sim-9', agentId: 'agent-2' });
      const ended = await startTask(store, newTask(), { ...INSTANCE, id: 'sim-8', agentId: 'agent-3' });
      await store.queue.end([{ ref: ended, ending: WELL, endedAtMs: 1 }]);
      await store.queue.insert([newTask()]);
      expect(await store.queue.running()).toEqual([
        { agentId: 'agent-1', ref: mine },
        { agentId: 'agent-2', ref: other },
      ]);
      expect(await store.queue.runningOn('agent-1')).toMatchObject([
        { id: mine.taskId, status: 'RUNNING', attempt: 1, instance: INSTANCE },
      ]);
      expect((await store.queue.runningOn('agent-2')).map(({ id }) => id)).toEqual([other.taskId]);
      expect(await store.queue.runningOn('agent-3')).toEqual([]);
    });

    it('is the same after the store was reopened', async () => {
      const ref = await startTask(store);
      const waiting = newTask({ requirement: { version: '9', labels: ['a'] } });
      await store.queue.insert([waiting]);
      store = await store.reopen();
      expect(await store.queue.runningOn('agent-1')).toMatchObject([{ id: ref.taskId, attempt: 1 }]);
      expect(await waitingKeys()).toEqual([key('9', 'a')]);
      expect(await store.queue.end([{ ref, ending: WELL, endedAtMs: 1 }])).toEqual([true]);
    });
  });
}
