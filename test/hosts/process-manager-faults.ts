/** Faults of the workload manager of fixtures/process-manager.sh, by files in its folder. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ManagerSettings } from '@workbench-hub/hub/core/hosts/host-recipe';
import type { WorkloadManagerUnderTest } from './workload-manager-suite.js';

export function processManagerFaults(
  folder: string,
  manager: ManagerSettings,
  words = /you have 1 jobs, and may have no more/,
): WorkloadManagerUnderTest['faults'] {
  const [hangs, quota] = [join(folder, 'hangs'), join(folder, 'quota')];
  return {
    slow: { halt: () => writeFile(hangs, ''), resume: () => rm(hangs) },
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
