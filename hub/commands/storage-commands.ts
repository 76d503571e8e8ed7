/** `workbench-hub storage check`. */
import { join } from 'node:path';
import { isSound, ok, reportOf } from '@workbench-hub/shared/checks/finding';
import { EXIT } from '@workbench-hub/shared/runtime/run-program';
import type { Command } from 'commander';
import { checkPlace } from '../files/inspect-place.js';
import { BLOBS_FOLDER } from './backup/layout.js';
import { refuseUnknownCommands, withConfig } from './command.js';
import { placeCertificates } from './place-certificates.js';

/** Adds `storage check` to the program. */
export function storageCommands(program: Command, environment: NodeJS.ProcessEnv): void {
  const group = program.command('storage').description('The place of files: storage.folder or storage.s3.');
  group
    .command('check')
    .description(
      'Checks address, credentials, rights and clock of the object store, or the rights of the folder, and says what is wrong and ' +
        'what to do. Leaves nothing there. Exits with 1 when there is a fault.',
    )
    .option('--json', 'print JSON')
    .action(({ json = false }: { json?: boolean }) =>
      withConfig(program, environment, async (config) => {
        const found = await checkPlace(config.storage, {
          localFolder: join(config.dataDir, BLOBS_FOLDER),
          ca: await placeCertificates(config),
        });
        const inDataDir = ok(
          'storage',
          `files are in ${config.dataDir}, which "workbench-hub doctor" checks`,
        );
        const findings = found.length === 0 ? [inDataDir] : found;
        console.log(reportOf(findings, json));
        if (!isSound(findings)) process.exitCode = EXIT.CRASHED;
      }),
    );
  refuseUnknownCommands(group);
}
