import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { openLog } from '@workbench-hub/shared/runtime/logger';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, it } from 'vitest';
import { newTaskWith } from '../../core/fixtures/task.js';
import { NO_FILES } from '../../core/task.js';
import { openSimulatedStore } from './fixtures/simulated-store.js';

const { log } = await openLog({ name: 'test', level: 'silent', file: null, rotation: null });
const NO_REQUIREMENT = { version: null, labels: [] };

const newTask = () => newTaskWith({ id: systemRuntime.newId() });

/** A store whose disk syncs when the test says so. */
function openStore() {
  let syncs: (() => void)[] = [];
  let isSlow = false;
  const store = openSimulatedStore(
    null,
    {
      sync: () => (isSlow ? new Promise((resolve) => syncs.push(resolve)) : Promise.resolve()),
      refusal: () => undefined,
      onCommit: () => undefined,
      onSyncFailed: () => undefined,
    },
    systemRuntime.timers,
    log,
  );
  return {
    ...store,
    slow: () => {
      isSlow = true;
    },
    sync: () => {
      for (const end of syncs) end();
      syncs = [];
    },
  };
}

const INSTANCE = { id: 'sim-1', version: '1', revision: '1', agentId: 'agent-1' };

describe('data written by an earlier process', () => {
  it('is synced before the hub continues', async () => {
    const store = openStore();
    store.slow();
    let isSafe = false;
    const synced = store.syncLeftOver().then(() => {
      isSafe = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isSafe).toBe(false);
    store.sync();
    await synced;
  });
});

describe('an end that is not durable yet', () => {
  const ends = {
    cancel: ({ queue }: ReturnType<typeof openStore>, taskId: string) =>
      queue.cancel([taskId], ['RUNNING'], 5),
    report: ({ queue }: ReturnType<typeof openStore>, taskId: string) => {
      const ref = { taskId, attempt: 1, instanceId: INSTANCE.id };
      const ending = { batchExecutionStatus: null, message: null, files: NO_FILES };
      return queue.end([{ ref, ending: { ...ending, status: 'FINISHED' }, endedAtMs: 5 }]);
    },
  };

  it.each(['cancel', 'report'] as const)('by a %s is not shown before it is synced', async (by) => {
    const store = openStore();
    const { id } = newTask();
    await store.queue.insert([{ ...newTask(), id }]);
    const { groups } = await store.queue.waitingGroups({ afterGroupId: 0, limit: 9, maxKeyBytes: 99 });
    expect(groups).toEqual([{ groupId: 1, requirementKey: requirementKey(NO_REQUIREMENT) }]);
    await store.queue.claim([{ taskId: id, instance: INSTANCE, startedAtMs: 2 }]);

    store.slow();
    const ended = ends[by](store, id);
    let seen: string | undefined;
    const looked = store.archive.find(id).then((task) => {
      seen = task?.status;
    });
    while (store.tasks()[0]?.status === 'RUNNING') await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toBeUndefined();

    store.sync();
    expect(await ended).toEqual([true]);
    await looked;
    expect(seen).toBe(by === 'cancel' ? 'CANCELED' : 'FINISHED');
  });
});
