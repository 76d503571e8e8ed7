/** The drivers for Slurm, with a real one. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ManagerSettings } from '@workbench-hub/hub/core/hosts/host-recipe';
import { describe } from 'vitest';
import { eventually } from '../support/eventually.js';
import { hasSlurm, type SlurmCluster, slurmCluster } from '../support/hosts/slurm-cluster.js';
import { describeWorkloadManager, type WorkloadManagerUnderTest } from './workload-manager-suite.js';

const LONG_MS = 120_000;

function faultsOf(
  cluster: SlurmCluster,
  { short, held }: { readonly short: ManagerSettings; readonly held: ManagerSettings },
): WorkloadManagerUnderTest['faults'] {
  const { runInside } = cluster;
  return {
    slow: { halt: () => cluster.haltController(), resume: () => cluster.resumeController() },
    // Limits of a user take a database; that of a partition is refused in the same way.
    quota: { useUp: async () => short, free: () => undefined, words: /[Rr]equested time limit is invalid/ },
    // One that the administrator holds; held by its user, it waits on purpose.
    stuck: {
      manager: held,
      after: (jobId) => runInside('scontrol', ['hold', jobId]),
      words: /^JobHeldAdmin$/,
    },
    crash: async (name) => {
      // The saved state may be older than the start of the job; a comment that is set now shows when it is not.
      const jobId = (await runInside('squeue', ['--noheader', '--format=%i', `--name=${name}`])).trim();
      const comment = `running-${name}`;
      await runInside('scontrol', ['update', `JobId=${jobId}`, `AdminComment=${comment}`]);
      await eventually(() => cluster.isKept(comment), LONG_MS);
      await cluster.endController('SIGKILL');
    },
    shorten: (jobId) => runInside('scontrol', ['update', `JobId=${jobId}`, 'TimeLimit=2']),
    loseHostOf: async (jobId) => {
      const host = (await runInside('squeue', ['--noheader', '--format=%N', `--jobs=${jobId}`])).trim();
      await cluster.loseHost(host);
      return () => cluster.regainHost(host);
    },
    endsInTime: false,
  };
}

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
    faults: faultsOf(cluster, { short: manager('--partition=short'), held: manager('--hold') }),
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
    // slurmrestd 22.05 does not heed that the job is not to be put back.
    faults: {
      ...faultsOf(cluster, { short: manager({ partition: 'short' }), held: manager({ hold: true }) }),
      lostJobIs: 'QUEUED',
    },
    close: () => cluster.stop(),
  };
}

const slurmIsThere = hasSlurm();
const EACH_FAULT = ['slow', 'quota', 'stuck', 'crash', 'loseHostOf'] as const;

describe.skipIf(!slurmIsThere)('Slurm by its commands', () =>
  describeWorkloadManager(openByCommands, EACH_FAULT),
);

describe.skipIf(!slurmIsThere)('Slurm by slurmrestd', () => describeWorkloadManager(openByRest, EACH_FAULT));
