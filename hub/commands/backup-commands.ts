/** `workbench-hub backup` and `restore`. */
import { resolve } from 'node:path';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import type { Command } from 'commander';
import { audited } from './audited.js';
import { backUp } from './backup/back-up.js';
import { sizeText } from './backup/progress.js';
import { restore } from './backup/restore.js';
import { withConfig } from './command.js';

const { clock } = systemRuntime;

const tell = (line: string) => console.error(line);

/** Adds `backup` and `restore` to the program. */
export function backupCommands(program: Command, environment: NodeJS.ProcessEnv): void {
  program
    .command('backup <file>')
    .description(
      'Makes one file of all that the hub keeps, while it runs: tasks, contents, users, keys. The file (tar; compressed ' +
        'when its name ends with .gz or .tgz) holds the secrets of the hub.',
    )
    .option('--audit', 'the audit log, too')
    .option('--overwrite', 'replace a file of this name')
    .option('--incomplete', 'go on although the hub has lost contents that tasks name')
    .action((file: string, { audit = false, overwrite = false, incomplete = false }: BackupFlags) =>
      withConfig(program, environment, async (config) => {
        const made = await audited(config, `backup ${file}`, () =>
          backUp({ config, file, audit, overwrite, incomplete, clock, tell }),
        );
        const contents = `${made.contents} contents of ${sizeText(made.contentBytes)}`;
        console.log(`${resolve(file)} holds the hub, with ${contents}: ${sizeText(made.sizeBytes)}.`);
        if (made.missing.length > 0) console.error(`${made.missing.length} contents were missing.`);
      }),
    );

  program
    .command('restore <file>')
    .description(
      'Puts a backup into dataDir, for a hub that does not run. Everything is checked before anything is changed.',
    )
    .option('--replace', 'put data of a hub that is there already aside')
    .action((file: string, { replace = false }: { replace?: boolean }) =>
      withConfig(program, environment, async (config) => {
        const { manifest, tasks, former } = await restore({ config, file, replace, clock, tell });
        await audited(config, `restore ${file}`, () => undefined);
        const counts = Object.entries(tasks).map(([status, count]) => `${count} ${status}`);
        console.log(
          `${resolve(config.dataDir)} is as the hub was at ${manifest.createdAt}: tasks ${counts.join(', ') || 'none'}.`,
        );
        if (former !== null) console.log(`What was there before is in ${resolve(former)}.`);
        console.error(
          'Tasks that were handed in, canceled or finished after that are as they were then. So are users, tokens and ' +
            'credentials: revoke again what was revoked since. Whoever has logged in since has to do so again.',
        );
      }),
    );
}

interface BackupFlags {
  readonly audit?: boolean;
  readonly overwrite?: boolean;
  readonly incomplete?: boolean;
}
