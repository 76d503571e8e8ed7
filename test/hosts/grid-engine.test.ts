/** The driver for Grid Engine, with a real one. */
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { describe } from 'vitest';
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
    close: () => cell.stop(),
  };
}

describe.skipIf(!hasGridEngine())('Grid Engine', () => describeWorkloadManager(open));
