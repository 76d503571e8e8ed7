/** `workbench-hub store check`, `store migrate` and `store accept-loss`. */
import { isSound, reportOf } from '@workbench-hub/shared/checks/finding';
import { EXIT } from '@workbench-hub/shared/runtime/run-program';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import type { Command } from 'commander';
import { acceptLossOfStore, checkStore, migrateStore } from '../store/open-store.js';
import { audited } from './audited.js';
import { refuseUnknownCommands, withConfig } from './command.js';

/** Adds `store check|migrate|accept-loss` to the program. */
export function storeCommands(program: Command, environment: NodeJS.ProcessEnv): void {
  const group = program.command('store').description('The PostgreSQL database of store.');
  group
    .command('check')
    .description(
      'Checks address, rights, version, settings, notifications and clock of the database, and says what is wrong and what to ' +
        'do. Changes nothing. Exits with 1 when there is a fault.',
    )
    .option('--json', 'print JSON')
    .action(({ json = false }: { json?: boolean }) =>
      withConfig(program, environment, async (config) => {
        const findings = await checkStore(config, systemRuntime);
        console.log(reportOf(findings, json));
        if (!isSound(findings)) process.exitCode = EXIT.CRASHED;
      }),
    );
  group
    .command('migrate')
    .description(
      'Makes or updates the tables in the database, for instance as a user with more rights than the hub has. A start of the hub does ' +
        'the same. Hubs of the version before may run; what they still need is removed by the same command when they have ended.',
    )
    .action(() =>
      withConfig(program, environment, async (config) => {
        const { done, waitsFor } = await audited(config, 'store migrate', () =>
          migrateStore(config, systemRuntime),
        );
        if (done.length > 0) console.log(`Done: ${done.join(', ')}.`);
        else if (waitsFor.length === 0) console.log('The tables are up to date.');
        const names = waitsFor.map(({ id, version }) => `${id} (version ${version})`).join(', ');
        if (names !== '')
          console.log(`The rest can be done when these hubs have ended, by the same command: ${names}.`);
      }),
    );
  group
    .command('accept-loss')
    .description(
      'Accepts, while the hub is stopped, that the database lacks work that was confirmed, as after the restore of a backup. The ' +
        'hub then starts without that work, and clients that follow tasks begin anew.',
    )
    .action(() =>
      withConfig(program, environment, async (config) => {
        const lost = await audited(config, 'store accept-loss', () =>
          acceptLossOfStore(config, systemRuntime),
        );
        console.log(
          lost === undefined
            ? 'The database lacks nothing; nothing was changed.'
            : `Accepted: the database lacks ${lost}.`,
        );
      }),
    );
  refuseUnknownCommands(group);
}
