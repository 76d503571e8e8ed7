/** The drivers for Slurm, with a real one. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe } from 'vitest';
import { hasSlurm, slurmCluster } from '../support/hosts/slurm-cluster.js';
import { describeWorkloadManager, type WorkloadManagerUnderTest } from './workload-manager-suite.js';

async function openByCommands(): Promise<WorkloadManagerUnderTest> {
  const cluster = await slurmCluster();
  const manager = (...options: readonly string[]) => ({ kind: 'slurm' as const, via: cluster.via, options });
  return {
    folder: await mkdtemp(join(cluster.folder, 'shared-')),
    manager: manager(),
    holding: manager('--hold'),
    refusing: manager('--partition=other'),
    refusal: /[Ii]nvalid partition/,
    endOfCanceled: 'asked to end',
    isForgotten: false,
    leave: () => cluster.endController('SIGTERM'),
    comeBack: () => cluster.startController(),
    close: () => cluster.stop(),
  };
}

async function openByRest(): Promise<WorkloadManagerUnderTest> {
  const cluster = await slurmCluster();
  const url = await cluster.startRest();
  const tokenFile = join(cluster.folder, 'token');
  await writeFile(
    tokenFile,
    await cluster.runInside('scontrol', ['token', 'username=root', 'lifespan=9000']),
  );
  const manager = (options: Readonly<Record<string, unknown>>) => ({
    ...{ kind: 'slurmrestd' as const, via: [], url, user: 'root', tokenFile, options },
  });
  return {
    folder: await mkdtemp(join(cluster.folder, 'shared-')),
    manager: manager({}),
    holding: manager({ hold: true }),
    refusing: manager({ partition: 'other' }),
    refusal: /[Ii]nvalid partition/,
    endOfCanceled: 'asked to end',
    isForgotten: false,
    leave: () => cluster.endController('SIGTERM'),
    comeBack: () => cluster.startController(),
    close: () => cluster.stop(),
  };
}

const slurmIsThere = hasSlurm();

describe.skipIf(!slurmIsThere)('Slurm by its commands', () => describeWorkloadManager(openByCommands));

describe.skipIf(!slurmIsThere)('Slurm by slurmrestd', () => describeWorkloadManager(openByRest));
