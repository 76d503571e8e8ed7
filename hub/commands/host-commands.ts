/** `workbench-hub hosts …`: the recipes of hosts. */
import { isSound, reportOf } from '@workbench-hub/shared/checks/finding';
import { EXIT, StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import type { Command } from 'commander';
import type { HubConfig } from '../config.js';
import { refuseUnknownCommands, withConfig } from './command.js';

/** Adds `hosts check` to the program. */
export function hostCommands(program: Command, environment: NodeJS.ProcessEnv): void {
  const group = program.command('hosts').description('Hosts that workload managers bring.');
  group
    .command('check [recipes...]')
    .description(
      'Asks the workload manager of each recipe, or of those that are named, whether it would take its jobs, and says what is wrong. ' +
        'No job runs. Exits with 1 when there is a fault.',
    )
    .option('--json', 'print JSON')
    .action((names: string[], { json = false }: { json?: boolean }) =>
      withConfig(program, environment, async (config) => {
        const hosts = recipesOf(names, config);
        // Loaded only when wanted: the drivers cost time.
        const { checkHostRecipes } = await import('./doctor/host-checks.js');
        const findings = await checkHostRecipes({ hosts }, { environment, runtime: systemRuntime });
        console.log(reportOf(findings, json));
        if (!isSound(findings)) process.exitCode = EXIT.CRASHED;
      }),
    );
  refuseUnknownCommands(group);
}

function recipesOf(names: readonly string[], { hosts }: HubConfig): HubConfig['hosts'] {
  const known = hosts.map(({ name }) => name);
  if (known.length === 0) throw new StartRefused('the configuration has no recipes: add one to "hosts"');
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new StartRefused(
      `there is no recipe ${JSON.stringify(unknown)}; the configuration has ${known.join(', ')}`,
    );
  return names.length === 0 ? hosts : hosts.filter(({ name }) => names.includes(name));
}
