import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  claim,
  fileOf,
  INSTANCE,
  newTask,
  type OpenStore,
  type StoreUnderTest,
  startTask,
  WELL,
} from './store-under-test.js';

/** The transitions of an attempt, each with its fence: the active attempt, and no other. */
export function describeAttemptTransitions(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const now = async (taskId: string) => {
    const task = await store.archive.find(taskId);
    if (!task) throw new Error(`task ${taskId} is gone`);
    return task;
  };

  /** Refs that are similar to that of the active attempt. */
  const others = (ref: { taskId: string; attempt: number; instanceId: string }) => [
    { ...ref, taskId: '019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77' },
    { ...ref, attempt: ref.attempt + 1 },
    { ...ref, attempt: ref.attempt - 1 },
    { ...ref, instanceId: 'sim-2' },
  ];

  describe('end', () => {
    it('writes the completion with its files, once', async () => {
      const ref = await startTask(store, newTask({ type: 'EXECUTE_BATCH_JOB' }));
      const files = {
        outputFiles: [
          { path: 'b/z.txt', ...fileOf('z') },
          { path: 'a.txt', ...fileOf('a') },
        ],
        log: fileOf('log'),
      };
      const ending = { status: 'FAILED', batchExecutionStatus: 'ERROR', message: 'no', files } as const;
      expect(await store.queue.end([{ ref, ending, endedAtMs: 99 }])).toEqual([true]);
      expect(await store.queue.end([{ ref, ending: WELL, endedAtMs: 100 }])).toEqual([false]);
      expect(await now(ref.taskId)).toMatchObject({
        status: 'FAILED',
        batchExecutionStatus: 'ERROR',
        message: 'no',
        endedAtMs: 99,
        instance: INSTANCE,
        attempt: 1,
      });
      expect(await store.archive.filesOf(ref.taskId)).toEqual(files);
    });

    it('skips attempts that are not active, also within one list', async () => {
      const ref = await startTask(store);
      const refs = [...others(ref), ref, ref];
      const ended = await store.queue.end(refs.map((each) => ({ ref: each, ending: WELL, endedAtMs: 1 })));
      expect(ended).toEqual([false, false, false, false, true, false]);
      expect(await now(ref.taskId)).toMatchObject({ status: 'FINISHED' });
    });

    it('skips a waiting task', async () => {
      const task = newTask();
      await store.queue.insert([task]);
      const ref = { taskId: task.id, attempt: 0, instanceId: 'sim-1' };
      expect(await store.queue.end([{ ref, ending: WELL, endedAtMs: 1 }])).toEqual([false]);
    });
  });

  describe('requeue', () => {
    it.each([
      ['CRASH', { crashes: 1, losses: 0 }],
      ['LOSS', { crashes: 0, losses: 1 }],
      ['HOST_FAULT', { crashes: 0, losses: 1 }],
      ['RETURN', { crashes: 0, losses: 0 }],
    ] as const)('counts a %s as %j', async (loss, counted) => {
      const ref = await startTask(store);
      expect(await store.queue.requeue([{ ref, loss }])).toEqual([true]);
      expect(await now(ref.taskId)).toMatchObject({
        status: 'WAITING',
        startedAtMs: null,
        attempt: 1,
        ...counted,
      });
      expect(await store.queue.requeue([{ ref, loss }])).toEqual([false]);
      expect(await now(ref.taskId)).toMatchObject(counted);
    });

    it('skips attempts that are not active', async () => {
      const ref = await startTask(store);
      const released = await store.queue.requeue(others(ref).map((each) => ({ ref: each, loss: 'LOSS' })));
      expect(released).toEqual([false, false, false, false]);
      expect(await now(ref.taskId)).toMatchObject({ status: 'RUNNING', losses: 0 });
    });
  });

  describe('a checkpoint', () => {
    const named = (...paths: readonly string[]) => paths.map((path) => ({ path, ...fileOf(path) }));
    const dropped = async () => (await store.inlineBlobs.dropped(0, 100)).map(({ digest }) => digest).sort();
    const digestsOf = (...contents: readonly string[]) => contents.map((each) => fileOf(each).digest).sort();
    const claimNext = (taskId: string) => store.queue.claim([{ taskId, instance: INSTANCE, startedAtMs: 7 }]);
    const requeue = (ref: Awaited<ReturnType<typeof startTask>>, ...paths: readonly string[]) =>
      store.queue.requeue([{ ref, loss: 'RETURN', checkpoint: named(...paths) }]);

    it('of a returned attempt goes to the next one, and to those after it', async () => {
      const first = await startTask(store);
      expect(await requeue(first, 'b/step 2', 'a')).toEqual([true]);
      expect(await store.archive.checkpointOf(first.taskId)).toEqual(named('b/step 2', 'a'));
      const [second] = await claimNext(first.taskId);
      expect(second?.checkpoint).toEqual(named('b/step 2', 'a'));
      await store.queue.requeue([{ ref: second?.ref as typeof first, loss: 'LOSS' }]);
      expect((await claimNext(first.taskId))[0]?.checkpoint).toEqual(named('b/step 2', 'a'));
      expect(await dropped()).toEqual([]);
    });

    it('takes the place of the one before, which is no longer needed', async () => {
      const first = await startTask(store);
      await requeue(first, 'a', 'b', 'c');
      const [second] = await claimNext(first.taskId);
      await requeue(second?.ref as typeof first, 'd', 'b');
      expect(await store.archive.checkpointOf(first.taskId)).toEqual(named('d', 'b'));
      expect(await dropped()).toEqual(digestsOf('a', 'b', 'c'));
      const [third] = await claimNext(first.taskId);
      await requeue(third?.ref as typeof first);
      expect(await store.archive.checkpointOf(first.taskId)).toEqual([]);
      expect(await claimNext(first.taskId)).toMatchObject([{ ref: { attempt: 4 } }]);
    });

    it('of an attempt that is not active is left out', async () => {
      const ref = await startTask(store);
      expect(await requeue({ ...ref, attempt: 2 }, 'a')).toEqual([false]);
      expect(await store.archive.checkpointOf(ref.taskId)).toEqual([]);
    });

    it.each(['end', 'cancel'] as const)(
      'goes with the %s of its task, and is no output of it',
      async (how) => {
        const first = await startTask(store);
        await requeue(first, 'a');
        const other = await startTask(store);
        await requeue(other, 'b');
        expect(await store.archive.filesOf(first.taskId)).toEqual({ outputFiles: [], log: null });
        if (how === 'end') {
          const [second] = await claimNext(first.taskId);
          await store.queue.end([{ ref: second?.ref as typeof first, ending: WELL, endedAtMs: 9 }]);
        } else await store.queue.cancel([first.taskId], ['WAITING'], 9);
        expect(await store.archive.checkpointOf(first.taskId)).toEqual([]);
        expect(await dropped()).toEqual(digestsOf('a'));
        expect(await store.archive.checkpointOf(other.taskId)).toEqual(named('b'));
      },
    );
  });

  describe('adopt', () => {
    const held = (ref: { taskId: string; attempt: number; instanceId: string }) => ({
      ref,
      instance: { ...INSTANCE, id: ref.instanceId },
      startedAtMs: 55,
      isProven: false,
    });

    const proven = (ref: Parameters<typeof held>[0]) => ({ ...held(ref), isProven: true });

    const DEQUEUED = { dequeuedFrom: expect.any(Number) };

    it('confirms the active attempt without a change', async () => {
      const ref = await startTask(store);
      const before = await now(ref.taskId);
      expect(await store.queue.adopt([held(ref)])).toEqual([{ dequeuedFrom: null }]);
      expect(await now(ref.taskId)).toEqual(before);
    });

    it('makes an unconfirmed attempt active that is proven, and no other', async () => {
      const task = newTask();
      await store.queue.insert([task]);
      const [{ groupId } = { groupId: 0 }] = await store.queue.waiting([task.id]);
      const ref = { taskId: task.id, attempt: 1, instanceId: 'sim-1' };
      expect(await store.queue.adopt([held(ref)])).toEqual([null]);
      expect(await now(task.id)).toMatchObject({ status: 'WAITING', attempt: 0 });
      const later = { ...ref, attempt: 2 };
      expect(await store.queue.adopt([proven(later)])).toEqual([null]);
      expect(await store.queue.adopt([proven(ref)])).toEqual([{ dequeuedFrom: groupId }]);
      expect(await now(task.id)).toMatchObject({
        status: 'RUNNING',
        attempt: 1,
        startedAtMs: 55,
        instance: { id: 'sim-1', agentId: 'agent-1' },
      });
      expect(await store.queue.end([{ ref, ending: WELL, endedAtMs: 1 }])).toEqual([true]);
    });

    it('makes an attempt that is presumed lost active, as long as no newer one has begun', async () => {
      const ref = await startTask(store);
      await store.queue.requeue([{ ref, loss: 'LOSS' }]);
      expect(await store.queue.adopt([held(ref)])).toEqual([DEQUEUED]);
      expect(await now(ref.taskId)).toMatchObject({ status: 'RUNNING', attempt: 1, losses: 1 });

      await store.queue.requeue([{ ref, loss: 'LOSS' }]);
      const newer = await claim(store, ref.taskId, { ...INSTANCE, id: 'sim-2' });
      expect(await store.queue.adopt([held(ref)])).toEqual([null]);
      await store.queue.requeue([{ ref: newer, loss: 'LOSS' }]);
      expect(await store.queue.adopt([held(ref)])).toEqual([null]);
      expect(await store.queue.adopt([held(newer)])).toEqual([DEQUEUED]);
    });

    it.each(['CRASH', 'HOST_FAULT', 'RETURN'] as const)(
      'skips an attempt that has reported: %s',
      async (loss) => {
        const ref = await startTask(store);
        await store.queue.requeue([{ ref, loss }]);
        expect(await store.queue.adopt([held(ref)])).toEqual([null]);
        expect(await store.queue.adopt([proven(ref)])).toEqual([null]);
        expect(await now(ref.taskId)).toMatchObject({ status: 'WAITING', attempt: 1 });
      },
    );

    it('skips tasks of another agent, running or waiting', async () => {
      const ref = await startTask(store);
      const ofAnother = { ...held(ref), instance: { ...INSTANCE, agentId: 'agent-9' } };
      expect(await store.queue.adopt([ofAnother])).toEqual([null]);
      await store.queue.requeue([{ ref, loss: 'LOSS' }]);
      expect(await store.queue.adopt([ofAnother])).toEqual([null]);
      expect(await store.queue.adopt([{ ...ofAnother, isProven: true }])).toEqual([null]);
      expect(await now(ref.taskId)).toMatchObject({ status: 'WAITING' });
      expect(await store.queue.adopt([held(ref)])).toEqual([DEQUEUED]);
    });

    it('skips tasks with another attempt or instance, and ended ones', async () => {
      const ref = await startTask(store);
      await store.queue.requeue([{ ref, loss: 'LOSS' }]);
      const strangers = [
        { ...ref, instanceId: 'sim-2' },
        { ...ref, attempt: 3 },
        { ...ref, taskId: '019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77' },
      ];
      expect(await store.queue.adopt(strangers.map(held))).toEqual([null, null, null]);
      const ended = await startTask(store);
      await store.queue.end([{ ref: ended, ending: WELL, endedAtMs: 1 }]);
      expect(await store.queue.adopt([held(ended)])).toEqual([null]);
      expect(await now(ended.taskId)).toMatchObject({ status: 'FINISHED' });
    });
  });

  describe('cancel', () => {
    it('takes place from the given statuses', async () => {
      const waiting = newTask();
      await store.queue.insert([waiting]);
      const running = (await startTask(store)).taskId;
      const ended = await startTask(store);
      await store.queue.end([{ ref: ended, ending: WELL, endedAtMs: 1 }]);
      const all = [waiting.id, running, ended.taskId, 'nobody'];
      expect(await store.queue.cancel(all, ['WAITING'], 77)).toEqual([true, false, false, false]);
      expect(await now(waiting.id)).toMatchObject({ status: 'CANCELED', endedAtMs: 77, startedAtMs: null });
      expect(await store.queue.cancel(all, ['WAITING', 'RUNNING'], 88)).toEqual([false, true, false, false]);
      expect(await now(running)).toMatchObject({ status: 'CANCELED', endedAtMs: 88, instance: INSTANCE });
      expect(await now(waiting.id)).toMatchObject({ endedAtMs: 77 });
    });

    it('takes place, or a simultaneous claim does, but not both', async () => {
      for (const cancelFirst of [true, false]) {
        const { id } = newTask();
        await store.queue.insert([newTask({ id })]);
        const cancel = () => store.queue.cancel([id], ['WAITING'], 1);
        const claimIt = () => store.queue.claim([{ taskId: id, instance: INSTANCE, startedAtMs: 1 }]);
        const [canceled, claimed] = cancelFirst
          ? await Promise.all([cancel(), claimIt()])
          : await Promise.all([claimIt(), cancel()]).then(([a, b]) => [b, a] as const);
        expect(canceled[0]).toBe(claimed.length === 0);
        expect(await now(id)).toMatchObject({ status: canceled[0] ? 'CANCELED' : 'RUNNING' });
      }
    });
  });
}
