import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newTask, type OpenStore, type StoreUnderTest, startTask, WELL } from './store-under-test.js';

export function describeTaskExclusions(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const exclusion = (agentId: string, atMs: number, reason = 'its disk is full') => ({
    agentId,
    reason,
    atMs,
  });
  const shown = async (sinceMs: number) =>
    (await store.exclusions.since(sinceMs)).map(({ taskId, exclusion: { agentId } }) => [taskId, agentId]);

  describe('exclusions of agents from a task', () => {
    it('are kept with what the task requires, over a restart', async () => {
      const requirement = { version: '9.*', labels: ['gears', 'ü'] };
      const task = newTask({ requirement });
      await store.queue.insert([task]);
      await store.exclusions.put(task.id, exclusion('b', 20));
      await store.exclusions.put(task.id, exclusion('a', 30, 'no space for ü'));
      store = await store.reopen();
      expect(await store.exclusions.since(0)).toEqual([
        { taskId: task.id, requirement, exclusion: exclusion('b', 20) },
        { taskId: task.id, requirement, exclusion: exclusion('a', 30, 'no space for ü') },
      ]);
    });

    it('are those after a time, and the latest of each agent', async () => {
      const task = newTask();
      await store.queue.insert([task]);
      await store.exclusions.put(task.id, exclusion('a', 10));
      await store.exclusions.put(task.id, exclusion('b', 20));
      expect(await shown(10)).toEqual([[task.id, 'b']]);
      await store.exclusions.put(task.id, exclusion('a', 30));
      expect(await shown(20)).toEqual([[task.id, 'a']]);
      expect(await shown(0)).toHaveLength(2);
    });

    it('go with the end of the task and its removal', async () => {
      const [ended, canceled, running] = [newTask(), newTask(), newTask()];
      const ref = await startTask(store, ended);
      await startTask(store, running, { id: 'sim-2', version: '9', revision: '1', agentId: 'agent-1' });
      await store.queue.insert([canceled]);
      for (const { id } of [ended, canceled, running]) await store.exclusions.put(id, exclusion('a', 10));
      expect(await shown(0)).toHaveLength(3);
      await store.queue.end([{ ref, ending: WELL, endedAtMs: 40 }]);
      await store.queue.cancel([canceled.id], ['WAITING'], 40);
      expect(await shown(0)).toEqual([[running.id, 'a']]);
      expect(await store.archive.remove([ended.id])).toEqual([true]);
      expect(await shown(0)).toEqual([[running.id, 'a']]);
    });

    it('from an unknown task are not kept', async () => {
      await store.exclusions.put('019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77', exclusion('a', 10));
      expect(await shown(0)).toEqual([]);
    });
  });
}
