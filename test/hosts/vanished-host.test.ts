/** A host of Grid Engine that vanishes under a task: the hub's engine with a real Grid Engine, on a clock that the test moves. */
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkloadManager } from '@workbench-hub/hub/core/ports/workload-manager';
import { openWorkloadManager } from '@workbench-hub/hub/workload-managers/open-workload-manager';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { create, engine, engineForEachTest, startAnew } from '../support/engine/engine-for-each-test.js';
import { joinAs, MINUTE_MS, pass } from '../support/engine/engine-with-hosts.js';
import { recipeWith } from '../support/engine/manager-in-memory.js';
import { LEASE_MS } from '../support/engine/running-engine.js';
import { type GridEngineCell, gridEngineCell, hasGridEngine } from '../support/hosts/grid-engine-cell.js';

const WALL_TIME_MS = 60 * MINUTE_MS;
/** Time after the end of its time for which a job may still be in the list. */
const OVERDUE_MS = 5 * MINUTE_MS;
/** Real time within which Grid Engine does what it was asked for, on a busy machine. */
const LIMIT_MS = 150_000;

/** Grid Engine's commands on a machine whose clock the test moves, too. */
async function managerOf(cell: GridEngineCell): Promise<{
  readonly manager: WorkloadManager;
  /** Lets its clock be so much ahead. */
  moveClock(aheadMs: number): Promise<void>;
}> {
  const folder = await mkdtemp(join(cell.folder, 'shared-'));
  const bin = join(cell.folder, 'bin');
  const ahead = join(cell.folder, 'ahead');
  await mkdir(bin);
  const moveClock = (aheadMs: number) => writeFile(ahead, String(aheadMs / 1000));
  await moveClock(0);
  await writeFile(join(bin, 'date'), `#!/bin/sh\necho $(($(/bin/date "$@") + $(cat '${ahead}')))\n`);
  await chmod(join(bin, 'date'), 0o755);
  const manager = openWorkloadManager({
    manager: { kind: 'grid-engine', via: cell.via, options: [] },
    allocation: {
      ...{ folder, scratch: folder, wallTimeMs: WALL_TIME_MS },
      agentCommand: ['sh', '-c', 'sleep 600; :'],
      agentConfigOf: () => ({}),
    },
    environment: { ...process.env, PATH: `${bin}:${process.env['PATH']}` },
    runtime: systemRuntime,
  });
  return { manager, moveClock };
}

/** The same, for an engine that waits for its answers before time goes on. */
function waitedFor(manager: WorkloadManager): { manager: WorkloadManager; answers(): Promise<unknown> } {
  const open = new Set<Promise<unknown>>();
  const kept = <T>(answer: Promise<T>): Promise<T> => {
    open.add(answer);
    const done = () => open.delete(answer);
    answer.then(done, done);
    return answer;
  };
  return {
    manager: {
      submit: (launch) => kept(manager.submit(launch)),
      jobs: (names) => kept(manager.jobs(names)),
      cancel: (name) => kept(manager.cancel(name)),
      output: (name) => kept(manager.output(name)),
      remove: (name) => kept(manager.remove(name)),
      check: () => kept(manager.check()),
    },
    answers: () => Promise.allSettled(open),
  };
}

/** Lets time pass until it holds. */
const passUntil = (holds: () => Promise<void>) =>
  vi.waitFor(
    async () => {
      await pass();
      await holds();
    },
    { timeout: LIMIT_MS, interval: 20 },
  );

/** Command lines of the processes that have the name of an allocation in it, which its files have in their paths. */
function processesOf(name: string): string[] {
  const ids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  const lines = ids.flatMap((id) => {
    try {
      return [readFileSync(`/proc/${id}/cmdline`, 'utf8').replaceAll('\0', ' ')];
    } catch {
      return []; // It has ended meanwhile.
    }
  });
  return lines.filter((line) => line.includes(name));
}

engineForEachTest();

describe.skipIf(!hasGridEngine())('a host of Grid Engine that vanishes', () => {
  it('is given back, and its allocation is over though Grid Engine keeps its job for ever', {
    timeout: 4 * LIMIT_MS,
  }, async () => {
    const cell = await gridEngineCell();
    onTestFinished(() => cell.stop());
    const { manager, moveClock } = await managerOf(cell);
    const { manager: asked, answers } = waitedFor(manager);
    const limits = { allocations: 1, queued: 1, hostHoursPerDay: null };
    await startAnew({ hosts: [recipeWith(asked, { manager: 'grid-engine', limits })] });
    const { beside } = engine.runtime;
    engine.runtime.beside = async () => {
      await answers();
      await beside?.();
    };
    let aheadMs = 0;
    const skip = async (byMs: number) => {
      aheadMs += byMs;
      await moveClock(aheadMs);
      engine.runtime.skip(byMs);
    };
    const allocation = async () => {
      const { limit, nowMs } = { limit: 20, nowMs: Number.MAX_SAFE_INTEGER };
      const all = [
        ...(await engine.store.allocations.open()),
        ...(await engine.store.allocations.latest({ recipe: null, limit, nowMs })),
      ];
      return all.toSorted((a, b) => a.wantedAtMs - b.wantedAtMs)[0];
    };
    const task = await create();
    await passUntil(async () => expect(await allocation()).toMatchObject({ state: 'STARTED' }));
    const { id: name = '', jobId } = (await allocation()) ?? {};
    await vi.waitFor(
      () => expect(processesOf(name)).toContainEqual(expect.stringContaining('sleep 600')),
      LIMIT_MS,
    );
    const agent = await joinAs(name);
    expect(agent.latest.ref.taskId).toBe(task);
    await passUntil(async () => expect(await allocation()).toMatchObject({ state: 'JOINED' }));

    cell.loseHost();
    await vi.waitFor(() => expect(processesOf(name)).toEqual([]), LIMIT_MS);
    await agent.disconnect();
    // Grid Engine says that the job runs; that its agent is silent is all that tells.
    await passUntil(async () => expect(await allocation()).toMatchObject({ state: 'DRAINING' }));
    expect(await manager.jobs([name])).toMatchObject([{ jobId, state: 'RUNNING', reason: null }]);
    await skip(LEASE_MS);
    await passUntil(async () => {
      expect(await manager.jobs([name])).toMatchObject([
        { jobId, state: 'RUNNING', reason: 'it is being deleted' },
      ]);
    });
    expect(await engine.tasks.get(task)).toMatchObject({ status: 'WAITING' });

    await skip(WALL_TIME_MS);
    await pass();
    await skip(OVERDUE_MS);
    await passUntil(async () => expect(await allocation()).toMatchObject({ id: name, state: 'ENDED' }));
    const message = `the workload manager still has job ${jobId}, which was canceled and whose time is over: remove it by qdel -f ${jobId}`;
    expect(await allocation()).toMatchObject({ message });
    expect(await manager.jobs([name])).toMatchObject([{ jobId, state: 'RUNNING', remainingMs: 0 }]);
  });
});
