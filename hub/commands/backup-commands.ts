/** `workbench-hub backup` and `restore`. */
import { join, resolve } from 'node:path';
import { sizeInWords } from '@workbench-hub/shared/domain/size-in-words';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import type { Command } from 'commander';
import { isElsewhere } from '../files/inspect-place.js';
import { audited } from './audited.js';
import { backUp } from './backup/back-up.js';
import { BLOBS_FOLDER } from './backup/layout.js';
import { restore } from './backup/restore.js';
import { withConfig } from './command.js';

const { clock } = systemRuntime;

const tell = (line: string) => console.error(line);

/** Adds `backup` and `restore` to the program. */
export function backupCommands(program: Command, environment: NodeJS.ProcessEnv): void {
  program
    .command('backup <file>')
    .description(
      'Writes all data of the hub into one file, also while it runs: tasks, blobs, users, keys. The file (tar; compressed ' +
        'when its name ends in .gz or .tgz) contains the secrets of the hub.',
    )
    .option('--audit', 'include the audit log')
    .option('--overwrite', 'replace an existing file')
    .option('--incomplete', 'continue although the hub has lost blobs that tasks refer to')
    .action((file: string, { audit = false, overwrite = false, incomplete = false }: BackupFlags) =>
      withConfig(program, environment, async (config) => {
        const made = await audited(config, `backup ${file}`, () =>
          backUp({ config, file, audit, overwrite, incomplete, clock, tell }),
        );
        const blobs = `${made.blobs} blobs of ${sizeInWords(made.blobBytes)}`;
        console.log(`${resolve(file)} holds the hub, with ${blobs}: ${sizeInWords(made.sizeBytes)}.`);
        if (await isElsewhere(config.storage, join(config.dataDir, BLOBS_FOLDER))) {
          console.error(
            'It does not hold the blobs, which are in storage.folder or storage.s3: save them now, after this backup.',
          );
        }
        if (made.missing.length > 0) console.error(`${made.missing.length} blobs were missing.`);
      }),
    );

  program
    .command('restore <file>')
    .description(
      'Restores a backup into dataDir while the hub is stopped. Everything is checked before anything is changed.',
    )
    .option('--replace', 'move the present data of a hub aside')
    .action((file: string, { replace = false }: { replace?: boolean }) =>
      withConfig(program, environment, async (config) => {
        const { manifest, tasks, former } = await restore({ config, file, replace, clock, tell });
        await audited(config, `restore ${file}`, () => undefined);
        const counts = Object.entries(tasks).map(([status, count]) => `${count} ${status}`);
        console.log(
          `${resolve(config.dataDir)} is in the state of ${manifest.createdAt}: tasks ${counts.join(', ') || 'none'}.`,
        );
        if (await isElsewhere(config.storage, join(config.dataDir, BLOBS_FOLDER))) {
          console.error(
            'The blobs are in storage.folder or storage.s3: bring them back to that time as well, and see what "workbench-hub doctor" finds.',
          );
        }
        if (former !== null) console.log(`The former data is in ${resolve(former)}.`);
        console.error(
          'Tasks that were created, canceled or finished later are as they were then. So are users, tokens and credentials: ' +
            'repeat revocations made since. Users who have logged in since must log in again.',
        );
      }),
    );
}

interface BackupFlags {
  readonly audit?: boolean;
  readonly overwrite?: boolean;
  readonly incomplete?: boolean;
}
