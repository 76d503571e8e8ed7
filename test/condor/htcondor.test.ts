/** The driver for HTCondor, with a real one; `npm run test:condor` runs these tests. */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import type { ManagedJob } from '@workbench-hub/hub/core/ports/workload-manager';
import { openWorkloadManager } from '@workbench-hub/hub/workload-managers/open-workload-manager';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWorkloadManager, type WorkloadManagerUnderTest } from '../hosts/workload-manager-suite.js';
import { eventually } from '../support/eventually.js';
import { type CondorPool, condorPool } from '../support/hosts/condor-pool.js';

const SYSTEM = process.env['CONDOR_SYSTEM'] ?? '';

async function open(): Promise<WorkloadManagerUnderTest> {
  const pool = await condorPool(SYSTEM);
  const manager = (...options: readonly string[]) => ({ kind: 'htcondor' as const, via: pool.via, options });
  return {
    folder: await mkdtemp(join(pool.folder, 'shared-')),
    manager: manager(),
    holding: manager('hold = true'),
    refusing: manager('accounting_group = other'),
    refusal: /there is no accounting group other/,
    endOfCanceled: 'asked to end',
    isForgotten: false,
    leave: async () => pool.endSchedd(),
    comeBack: () => pool.startSchedd(),
    // It looks at the end of the time once a minute.
    faults: { endsInTime: false },
    close: () => pool.stop(),
  };
}

describe('HTCondor', () => describeWorkloadManager(open, []));

describe('a job of HTCondor', () => {
  let pool: CondorPool;
  beforeAll(async () => {
    pool = await condorPool(SYSTEM);
    await mkdir(join(pool.folder, 'shared'));
  });
  afterAll(() => pool?.stop());

  /** The job of an agent with these options, when it has ended. */
  async function endOf(wallTimeMs: number, ...options: readonly string[]): Promise<ManagedJob> {
    const folder = join(pool.folder, 'shared');
    const agentCommand = ['sh', '-c', 'exec sleep 600'];
    const manager = openWorkloadManager({
      manager: { kind: 'htcondor', via: pool.via, options },
      allocation: { ...{ folder, scratch: null, wallTimeMs, agentCommand }, agentConfigOf: () => ({}) },
      environment: process.env,
      runtime: systemRuntime,
    });
    const name = `test-${randomUUID()}`;
    await manager.submit({ name, credential: 'secret' });
    return eventually(async () => {
      const [job] = await manager.jobs([name]);
      return job?.state === 'ENDED' && job;
    });
  }

  it('ends at the end of its time, and says so', async () => {
    expect(await endOf(5000)).toMatchObject({ reason: 'its wall time was over' });
  });

  it('that HTCondor cannot start is removed, with the reason why it was held', async () => {
    const { reason } = await endOf(60_000, 'executable = /nonexistent/sh');
    expect(reason).toMatch(/^it was held: .*Failed to execute '\/nonexistent\/sh'/);
  });
});
