/** Faults of the workload manager of fixtures/process-manager.sh, by files in its folder. */
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ManagerSettings } from '@workbench-hub/hub/core/hosts/host-recipe';
import type { WorkloadManagerUnderTest } from './workload-manager-suite.js';

export function processManagerFaults(
  folder: string,
  manager: ManagerSettings,
  words = /you have 1 jobs, and may have no more/,
): WorkloadManagerUnderTest['faults'] {
  const [hangs, hung, quota] = [join(folder, 'hangs'), join(folder, 'hung'), join(folder, 'quota')];
  return {
    slow: {
      halt: () => writeFile(hangs, ''),
      // A submit that was given up may run on, as over ssh, and start its job later than the test cancels its jobs.
      resume: async () => {
        await rm(hangs);
        await promisify(execFile)('flock', ['--exclusive', hung, 'true']);
      },
    },
    quota: {
      useUp: async () => {
        await writeFile(quota, '1');
        return manager;
      },
      free: () => rm(quota),
      words,
    },
    endsInTime: true,
  };
}
