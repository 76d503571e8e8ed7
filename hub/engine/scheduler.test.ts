/** When the scheduler may look at the queue; what it gives out is tried with the whole engine (test/engine). */
import { setImmediate as turn } from 'node:timers/promises';
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, it } from 'vitest';
import type { TaskQueue } from '../core/ports/task-store.js';
import type { Instances } from './instances.js';
import { Scheduler } from './scheduler.js';

/** One group waits, and one instance is idle: a scheduler that may look does so. */
function schedulerOverOneGroup({ known = true } = {}) {
  let looks = 0;
  const instances = { profilesVersion: 1, anyFits: () => known };
  const profile = { id: 'sim-1', version: '1', revision: '', labels: [] };
  const scheduler = new Scheduler({
    queue: {
      waitingGroups: async () => [requirementKey({ version: null, labels: [] })],
      heads: async () => {
        looks++;
        return [];
      },
    } as unknown as TaskQueue,
    instances: {
      get profilesVersion() {
        return instances.profilesVersion;
      },
      anyFits: () => instances.anyFits(),
      idle: () => [{ profile, agentId: 'a', busyOnAgent: 0, idleSinceMs: 0 }],
    } as unknown as Instances,
    runtime: systemRuntime,
    log: { debug: () => {} } as unknown as Logger,
    assign: () => true,
    giveBack: () => {},
  });
  return {
    scheduler,
    instances,
    looks: async () => {
      for (let turns = 0; turns < 10; turns++) await turn();
      return looks;
    },
  };
}

describe('the scheduler looks at the queue', () => {
  it('when it starts', async () => {
    const { scheduler, looks } = schedulerOverOneGroup();
    await scheduler.start();
    expect(await looks()).toBe(1);
  });

  it('not while it is paused, even when the pause came before the start', async () => {
    const { scheduler, looks } = schedulerOverOneGroup();
    scheduler.pause();
    await scheduler.start();
    expect(await looks()).toBe(0);
    scheduler.resume();
    expect(await looks()).toBe(1);
  });

  it('not any more when it was stopped, even when a pause ends after that', async () => {
    const { scheduler, looks } = schedulerOverOneGroup();
    scheduler.pause();
    await scheduler.start();
    await scheduler.stop();
    scheduler.resume();
    expect(await looks()).toBe(0);
  });

  it('not for groups that no known instance fits, until instances have changed', async () => {
    const { scheduler, instances, looks } = schedulerOverOneGroup({ known: false });
    await scheduler.start();
    scheduler.announce(requirementKey({ version: '1', labels: [] }));
    expect(await looks()).toBe(0);
    instances.anyFits = () => true;
    scheduler.wake();
    expect(await looks()).toBe(0);
    instances.profilesVersion++;
    scheduler.wake();
    expect(await looks()).toBe(1);
  });
});
