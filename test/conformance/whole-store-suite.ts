import type { Store } from '@workbench-hub/hub/core/ports/store';
import type { StoreMaintenance } from '@workbench-hub/hub/core/ports/store-maintenance';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { digestOf, fileOf, newTask } from './store-under-test.js';

/** A store as the hub opens it, and its maintenance by another process. */
export interface WholeStoreUnderTest {
  readonly store: Store;
  readonly maintenance: StoreMaintenance;
  /** Maintenance of a store that no hub has ever opened. */
  readonly unused: StoreMaintenance;
  /** Ends the store, and removes everything. It may have been closed before. */
  remove(): Promise<void>;
}

/** Clocks of hub and store that are further apart than that are a fault of the tests' host. */
const TOLERANCE_MS = 5000;

export function describeWholeStore(open: () => Promise<WholeStoreUnderTest>): void {
  let opened: WholeStoreUnderTest;
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(() => opened.remove());

  const insertTask = async () => {
    const model = { kind: 'BLOB', path: 'model.x', ...fileOf('model') } as const;
    const job = {
      type: 'EXECUTE_BATCH_JOB',
      model,
      scripts: [],
      additionalFiles: [],
      variables: [],
    } as const;
    const task = newTask({ type: 'EXECUTE_BATCH_JOB', job });
    await opened.store.queue.insert([task]);
    return task.id;
  };

  describe('the clock of the store', () => {
    it('tells the time in whole milliseconds, and never goes back in its durations', async () => {
      const { clock } = opened.store;
      const before = clock.monotonicMs();
      const nowMs = clock.nowMs();
      expect(Number.isInteger(nowMs)).toBe(true);
      expect(Math.abs(nowMs - Date.now())).toBeLessThan(TOLERANCE_MS);
      await insertTask();
      expect(clock.monotonicMs()).toBeGreaterThanOrEqual(before);
      expect(clock.nowMs()).toBeGreaterThanOrEqual(nowMs);
    });
  });

  describe('the sizes of the store', () => {
    it('are those of its databases, which grow', async () => {
      const before = await opened.store.sizes();
      for (const bytes of Object.values(before)) expect(bytes).toBeGreaterThan(0);
      const blob = Buffer.alloc(30_000, 'x');
      for (let at = 0; at < 20; at++) await opened.store.inlineBlobs.put(digestOf(`blob ${at}`), blob, 5);
      // Makes the blobs durable.
      await insertTask();
      const after = await opened.store.sizes();
      expect(Object.keys(after)).toEqual(Object.keys(before));
      const all = (sizes: Readonly<Record<string, number>>) =>
        Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0);
      expect(all(after)).toBeGreaterThan(all(before));
    });
  });

  describe('the maintenance of a store', () => {
    it('finds it, and whether a hub has it open', async () => {
      const { store, maintenance, unused } = opened;
      const facts = async (of: StoreMaintenance) => [
        ...[await of.exists(), await of.hasTasks(), await of.isInUse()],
      ];
      expect(await facts(maintenance)).toEqual([true, true, true]);
      await store.close();
      expect(await facts(maintenance)).toEqual([true, true, false]);
      expect(await facts(unused)).toEqual([false, false, false]);
      // The look has created nothing.
      expect(await unused.exists()).toBe(false);
    });

    it('finds no damage in a sound store of this version, first in the tasks', async () => {
      await insertTask();
      for (const quick of [true, false]) {
        const reports = await opened.maintenance.inspect({ quick });
        expect(reports[0]?.title).toContain('tasks');
        for (const report of reports) {
          if ('unreadable' in report) throw new Error(report.unreadable);
          expect(report.faults).toEqual([]);
          expect(report.schemaVersion).toBe(report.knownVersion);
        }
      }
      expect(await opened.maintenance.damagedInlineBlobs()).toEqual([]);
    });

    it('tells of tasks, their blobs and agents', async () => {
      const { store, maintenance } = opened;
      const id = await insertTask();
      await store.queue.insert([newTask()]);
      await store.queue.cancel([id], ['WAITING'], 9);
      expect(await maintenance.tasksByStatus()).toEqual({ CANCELED: 1, WAITING: 1 });
      expect(await maintenance.referencedBlobs()).toEqual([{ ...fileOf('model'), encrypted: false }]);
      expect(await maintenance.tasksReferringTo(digestOf('model'), 5)).toEqual([id]);
      expect(await maintenance.tasksReferringTo(digestOf('other'), 5)).toEqual([]);
      const agent = {
        version: '1',
        revision: '',
        nodeId: 'n',
        joinNumber: null,
        address: null,
        seenAtMs: 5,
        instances: [],
      };
      const joined = await store.cluster.presence.join({ ...agent, id: 'a', clockOffsetMs: -7 });
      if (joined === undefined || 'code' in joined) throw new Error(joined?.message);
      await store.cluster.presence.leave('a', joined.epoch, 6);
      await store.cluster.presence.join({ ...agent, id: 'b', clockOffsetMs: null });
      expect(await maintenance.agentClocks()).toEqual([{ agentId: 'a', offsetMs: -7 }]);
    });
  });
}
