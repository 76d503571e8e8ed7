/** `workbench-hub doctor`. */
import { fault, isSound, reportOf } from '@workbench-hub/shared/checks/finding';
import { EXIT } from '@workbench-hub/shared/runtime/run-program';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import type { Command } from 'commander';
import { loadHubConfig } from '../config.js';
import { examine } from './doctor/examine.js';

/** Adds `doctor` to the program. */
export function doctorCommand(program: Command, environment: NodeJS.ProcessEnv): void {
  program
    .command('doctor')
    .description(
      'Checks configuration, data, keys, certificate, disk and agents of a hub, whether or not it runs, and says what is ' +
        'wrong and what to do. Changes nothing. Exits with 1 when there is a fault.',
    )
    .option('--deep', 'check every index and read every stored byte, which takes long')
    .option('--json', 'print JSON')
    .action(async ({ deep = false, json = false }: { deep?: boolean; json?: boolean }) => {
      const { config: file } = program.opts<{ config?: string }>();
      const loaded = loadHubConfig(file ?? null, environment);
      const findings =
        'faults' in loaded
          ? loaded.faults.map((message) => fault('configuration', message, 'correct it'))
          : await examine(loaded.config, { deep, clock: systemRuntime.clock, environment });
      console.log(reportOf(findings, json));
      if (!isSound(findings)) process.exitCode = EXIT.CRASHED;
    });
}
