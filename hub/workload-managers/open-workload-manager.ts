/** The workload manager of a recipe: the files of its allocations, and the driver of its kind. */
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { AllocationSettings, ManagerSettings } from '../core/hosts/host-recipe.js';
import type { ManagedJob, WorkloadManager } from '../core/ports/workload-manager.js';
import { allocationFiles, checkedName } from './allocation-files.js';
import type { Driver } from './driver.js';
import { gridEngine } from './grid-engine.js';
import { htcondor } from './htcondor.js';
import { commandRunner, type RunCommand } from './run-command.js';
import { siteCommands } from './site-commands.js';
import { slurm } from './slurm.js';
import { slurmrestd } from './slurmrestd.js';

/** Names that one command is asked about: the arguments of a command have limits. */
const NAMES_AT_ONCE = 500;

export interface WorkloadManagerOptions {
  readonly manager: ManagerSettings;
  readonly allocation: AllocationSettings;
  /** Environment of this process, of which commands inherit all but the hub's own settings and credentials. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** No clock: the workload manager's times compare with its own clock only. */
  readonly runtime: { readonly timers: Timers };
}

/** Opens the workload manager; nothing is asked or started before a method is called, and nothing stays open. */
export function openWorkloadManager(options: WorkloadManagerOptions): WorkloadManager {
  const { manager, allocation, environment, runtime } = options;
  const run = commandRunner({ via: manager.via, environment, timers: runtime.timers });
  const files = allocationFiles(allocation, run);
  const driver = driverOf(options, run);
  return {
    async submit(launch) {
      const script = await files.write(launch);
      return driver.submit({ name: launch.name, script });
    },
    async jobs(names) {
      const known = [...new Set(names.map(checkedName))];
      const lists: (readonly ManagedJob[])[] = [];
      for (let at = 0; at < known.length; at += NAMES_AT_ONCE) {
        lists.push(await driver.jobs(known.slice(at, at + NAMES_AT_ONCE)));
      }
      return lists.flat();
    },
    cancel: async (name) => driver.cancel(checkedName(name)),
    output: async (name) => files.output(name),
    remove: async (name) => files.remove(name),
    check: async () => (await files.check()) ?? driver.check(),
  };
}

function driverOf({ manager, allocation, runtime }: WorkloadManagerOptions, run: RunCommand): Driver {
  switch (manager.kind) {
    case 'command':
      return siteCommands(manager, allocation, run);
    case 'slurm':
      return slurm(manager, allocation, run);
    case 'slurmrestd':
      return slurmrestd(manager, allocation, runtime.timers);
    case 'grid-engine':
      return gridEngine(manager, allocation, run);
    case 'htcondor':
      return htcondor(manager, allocation, run);
  }
}
