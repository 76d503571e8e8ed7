/** The driver for Grid Engine, with a real one. */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { openWorkloadManager } from '@workbench-hub/hub/workload-managers/open-workload-manager';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gridEngineCell, hasGridEngine } from '../support/hosts/grid-engine-cell.js';
import { describeWorkloadManager, type WorkloadManagerUnderTest } from './workload-manager-suite.js';

async function open(): Promise<WorkloadManagerUnderTest> {
  const cell = await gridEngineCell();
  const manager = (...options: readonly string[]) => ({
    kind: 'grid-engine' as const,
    via: cell.via,
    options,
  });
  return {
    folder: await mkdtemp(join(cell.folder, 'shared-')),
    manager: manager(),
    holding: manager('-h'),
    refusing: manager('-q', 'other.q'),
    refusal: /unknown queue "other.q"/,
    endOfCanceled: 'killed',
    isForgotten: true,
    leave: async () => cell.endMaster(),
    comeBack: async () => cell.startMaster(),
    faults: {
      slow: { halt: () => cell.haltMaster(), resume: () => cell.resumeMaster() },
      quota: {
        useUp: async () => {
          cell.boundJobs(1);
          return manager();
        },
        free: () => cell.boundJobs(0),
        words: /[Oo]nly 1 jobs? (?:is|are) allowed per user/,
      },
      stuck: {
        manager: manager('-o', '/missing/output'),
        words: /^Grid Engine could not start it \(state Eqw\): .*can't open output file/,
      },
      crash: async () => cell.killMaster(),
      endsInTime: true,
    },
    close: () => cell.stop(),
  };
}

describe.skipIf(!hasGridEngine())('Grid Engine', () => {
  describeWorkloadManager(open, ['slow', 'quota', 'stuck', 'crash']);

  it('lists jobs of the user who asks, and of no other', async () => {
    const cell = await gridEngineCell();
    onTestFinished(() => cell.stop());
    const managerOf = (via: readonly string[]) =>
      openWorkloadManager({
        manager: { kind: 'grid-engine', via, options: ['-h'] },
        allocation: {
          ...{ folder: cell.folder, scratch: null, agentCommand: ['true'], wallTimeMs: 60_000 },
          agentConfigOf: () => ({}),
        },
        ...{ environment: process.env, runtime: systemRuntime },
      });
    const own = managerOf(cell.via);
    await own.submit({ name: 'gears-1', credential: 'secret' });
    expect(await own.jobs(['gears-1'])).toMatchObject([{ name: 'gears-1', state: 'QUEUED' }]);
    expect(await managerOf(cell.viaAs('nobody')).jobs(['gears-1'])).toEqual([]);
  });
});
