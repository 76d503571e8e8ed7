/** A hub that restarts on the same files. */
import { createEngine, type EngineOptions } from '@workbench-hub/hub/engine/engine';
import { outputValues } from '@workbench-hub/hub/output-values/output-values';
import { pointTables } from '@workbench-hub/hub/output-values/point-tables';
import { soleHub } from '@workbench-hub/hub/store/sole-hub/sole-hub';
import { describe, expect, it, vi } from 'vitest';
import {
  create,
  engine,
  engineForEachTest,
  join,
  rejoin,
  restart,
} from '../support/engine/engine-for-each-test.js';
import { LEASE_MS, PROOFS } from '../support/engine/running-engine.js';

engineForEachTest();

describe('after a restart of the hub', () => {
  it('waiting tasks still wait, in order, and are dispatched', async () => {
    const ids = [await create(), await create(), await create()];
    await restart();
    const instances = ['1', '2', '3'].map((id) => ({ id }));
    const agent = await join({ instances });
    expect(agent.assigned.map(({ ref }) => ref.taskId)).toEqual(ids);
  });

  it('running tasks continue when their agent rejoins, and their results count', async () => {
    const agent = await join();
    const id = await create({ name: 'a' });
    const { ref } = agent.latest;
    await restart();
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING', attempt: 1 });
    const again = await rejoin(agent, { running: [ref] });
    expect(again.assigned).toEqual([]);
    expect(await again.end(ref, 'OK')).toBe(true);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FINISHED', name: 'a', losses: 0 });
  });

  it('the lease of an agent that does not rejoin begins with the start', async () => {
    await join();
    const id = await create();
    await engine.runtime.advance(LEASE_MS - 1);
    await restart();
    await engine.runtime.advance(LEASE_MS - 1);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING' });
    await engine.runtime.advance(1);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', losses: 1 });
  });

  it('agents and instances are remembered as disconnected', async () => {
    await join({ id: 'host-a', instances: [{ labels: ['gears'] }] });
    await restart();
    expect(engine.instances.agents()).toMatchObject([
      { id: 'host-a', version: '0.1.0', revision: 'abc1234', status: 'DOWN' },
    ]);
    expect(engine.instances.list()).toMatchObject([
      {
        profile: { id: 'sim-1', version: '9.1.0', revision: '4711', labels: ['gears'] },
        agentId: 'host-a',
        status: 'UNKNOWN',
        startedAtMs: null,
        working: false,
      },
    ]);
  });

  it('crashes and losses are remembered', async () => {
    const agent = await join();
    const id = await create();
    await agent.end(agent.latest.ref, 'INSTANCE_LOST');
    await agent.end(agent.latest.ref, 'INSTANCE_LOST');
    await restart();
    const again = await rejoin(agent);
    // The third attempt had begun before the restart and is lost, which counts apart.
    expect(again.latest.ref).toMatchObject({ taskId: id, attempt: 4 });
    expect(await again.end(again.latest.ref, 'INSTANCE_LOST')).toBe(true);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FAILED', losses: 1 });
  });
});

describe('start and stop of the engine', () => {
  it('may be called twice, and background work runs once', async () => {
    const find = vi.spyOn(engine.store.archive, 'endedBefore');
    await engine.start();
    await engine.runtime.advance(60_000);
    expect(find).toHaveBeenCalledTimes(1);
    await Promise.all([engine.stop(), engine.stop()]);
    await engine.stop();
    await engine.runtime.advance(180_000);
    expect(find).toHaveBeenCalledTimes(1);
    await expect(engine.start()).rejects.toThrow('the engine has been stopped');
  });

  it('a stop needs no start, waits for one in progress, and nothing begins after it', async () => {
    const { store, accounts, files, runtime, logger: log } = engine;
    let known!: () => void;
    const running = async () => {
      await new Promise<void>((resolve) => {
        known = resolve;
      });
      return [{ agentId: 'agent-1', ref: { taskId: 'task-1', attempt: 1, instanceId: 'sim-1' } }];
    };
    const options: EngineOptions = {
      queue: { ...store.queue, running },
      archive: store.archive,
      loans: store.loans,
      allocations: store.allocations,
      rollouts: store.rollouts,
      studies: store.studies,
      invalidations: store.invalidations,
      outputValues,
      pointTables,
      studySettings: { maxPoints: 100_000, openPoints: 100, bundleMs: 100, pollMs: null },
      ownHub: { id: '0190b5a0-0000-7000-8000-000000000001', baseUrl: null },
      cluster: soleHub({
        agents: store.agents,
        queue: store.queue,
        hub: { version: '' },
        clock: runtime.clock,
        log,
      }),
      changes: store.changes,
      exclusions: store.exclusions,
      agentDrains: accounts.agentDrains,
      proofs: PROOFS,
      files,
      names: store.namedObjects,
      uploads: store.uploads,
      storage: {
        input: {
          enabled: false,
          expireAfterMs: 1,
          maxFileBytes: 1,
          quotaPerUserBytes: null,
          keepUploadsForMs: 1,
          shared: false,
        },
        output: { enabled: false, expireAfterMs: 1 },
      },
      runtime,
      log,
      leaseTimeoutMs: LEASE_MS,
      forgetAgentsAfterMs: 1e9,
      limits: { maxAttempts: 3, maxLosses: 3 },
      keepEndedForMs: 1e9,
      defaultVersion: null,
    };
    const neverStarted = await createEngine(options);
    await neverStarted.stop();
    const other = await createEngine(options);
    const starting = other.start();
    let isStopped = false;
    const stopping = other.stop().then(() => {
      isStopped = true;
    });
    await runtime.settle();
    expect(isStopped).toBe(false);
    known();
    await Promise.all([starting, stopping]);
    const runningOn = vi.spyOn(store.queue, 'runningOn');
    await runtime.advance(2 * LEASE_MS);
    expect(runningOn).not.toHaveBeenCalled();
  });
});
