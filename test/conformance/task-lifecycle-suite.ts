/** Every transition of a task from every status: permitted ones take place, all others change nothing. */
import { NO_FILES, TASK_TRANSITIONS } from '@workbench-hub/hub/core/task';
import { canTransition } from '@workbench-hub/shared/domain/state-machine';
import { type AttemptRef, TASK_STATUSES, type TaskStatus } from '@workbench-hub/shared/domain/task';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  fileOf,
  INSTANCE,
  newTask,
  type OpenStore,
  type StoreUnderTest,
  startTask,
  WELL,
} from './store-under-test.js';

type TaskTransition = keyof typeof TASK_TRANSITIONS;

/** `create` is no transition of an existing task. */
const TRANSITIONS = (Object.keys(TASK_TRANSITIONS) as TaskTransition[]).filter(
  (transition) => transition !== 'create',
);

export function describeTaskLifecycle(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  /** A task in this status, and the attempt that an agent may hold of it. */
  async function taskThatIs(status: TaskStatus): Promise<AttemptRef> {
    if (status === 'WAITING') {
      const task = newTask();
      await store.queue.insert([task]);
      return { taskId: task.id, attempt: 1, instanceId: INSTANCE.id };
    }
    const ref = await startTask(store);
    if (status === 'CANCELED') await store.queue.cancel([ref.taskId], TASK_TRANSITIONS.cancelByForce.from, 1);
    if (status === 'FINISHED' || status === 'FAILED')
      await store.queue.end([{ ref, ending: { ...WELL, status }, endedAtMs: 1 }]);
    return ref;
  }

  async function perform(transition: TaskTransition, ref: AttemptRef): Promise<boolean> {
    const { queue, archive } = store;
    const tookPlace = async (results: Promise<boolean[]>) => (await results)[0] === true;
    switch (transition) {
      case 'create':
        throw new Error('a task is created once');
      case 'claim':
        return (await queue.claim([{ taskId: ref.taskId, instance: INSTANCE, startedAtMs: 2 }])).length === 1;
      case 'adopt':
        return (await queue.adopt([{ ref, instance: INSTANCE, startedAtMs: 2, isProven: true }]))[0] !== null;
      case 'end':
        return tookPlace(queue.end([{ ref, ending: WELL, endedAtMs: 2 }]));
      case 'requeue':
        return tookPlace(queue.requeue([{ ref, loss: 'LOSS' }]));
      case 'cancel':
      case 'cancelByForce':
        return tookPlace(queue.cancel([ref.taskId], TASK_TRANSITIONS[transition].from, 2));
      case 'keepFiles':
        return tookPlace(queue.keepFiles([{ ref, files: NO_FILES, storedFiles: [] }]));
      case 'remove':
        return tookPlace(archive.remove([ref.taskId]));
    }
  }

  it('the files of a canceled task are kept once, from the attempt that was running', async () => {
    const files = { outputFiles: [{ path: 'half.csv', ...fileOf('half') }], log: fileOf('log') };
    const keep = async (ref: AttemptRef) =>
      (await store.queue.keepFiles([{ ref, files, storedFiles: [] }]))[0] === true;
    const ref = await taskThatIs('CANCELED');
    const waiting = await taskThatIs('WAITING');
    await store.queue.cancel([waiting.taskId], TASK_TRANSITIONS.cancel.from, 1);
    expect([await keep(waiting), await keep({ ...ref, attempt: 2 })]).toEqual([false, false]);
    expect([await keep(ref), await keep(ref)]).toEqual([true, false]);
    expect(await store.archive.filesOf(ref.taskId)).toMatchObject(files);
  });

  const pairs = TRANSITIONS.flatMap((transition) => TASK_STATUSES.map((status) => ({ transition, status })));

  describe.each(pairs)('$transition of a task that is $status', ({ transition, status }) => {
    const isAllowed = canTransition<TaskStatus | '-'>(TASK_TRANSITIONS[transition], status);

    it(isAllowed ? 'takes place' : 'changes nothing', async () => {
      const ref = await taskThatIs(status);
      const before = await store.archive.find(ref.taskId);
      expect(before?.status).toBe(status);
      const tookPlace = await perform(transition, ref);
      const after = await store.archive.find(ref.taskId);
      if (isAllowed) {
        expect(TASK_TRANSITIONS[transition].to).toContain(after?.status ?? '-');
        expect(tookPlace).toBe(true);
      } else {
        expect(after).toEqual(before);
        // The agent keeps the active attempt.
        expect(tookPlace).toBe(transition === 'adopt' && status === 'RUNNING');
      }
    });
  });
}
