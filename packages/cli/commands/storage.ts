/** `wb storage`: files that many jobs use. */
import { basename } from 'node:path';
import { api, type StoredFile } from '@workbench-hub/client';
import { file, saveStoredFile } from '@workbench-hub/client/node';
import type { Command } from 'commander';
import type { Run } from '../command-action.js';
import { type Column, print, printable, sizeInWords, table } from '../console.js';
import { EXIT, UsageError } from '../exit-codes.js';
import { TransferBar, withUploadBar } from '../progress.js';
import { localTime } from '../times.js';

const PAGE_SIZE = 1000;

const COLUMNS: readonly Column<StoredFile>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'SIZE', of: ({ size }) => sizeInWords(size) },
  { title: 'OWNER', of: ({ owner }) => owner },
  { title: 'EXPIRES', of: ({ expiresAt }) => localTime(expiresAt) },
  { title: 'ENCRYPTED', of: ({ encrypted }) => (encrypted ? 'yes' : undefined) },
];

/** Adds `wb storage` with its commands. */
export function addStorageCommands(program: Command, run: Run): void {
  const storage = program.command('storage').description('files in the input and output storage');
  addList(storage, run);
  addInputCommands(storage, run);
  addGet(storage, run);
}

function addList(storage: Command, run: Run): void {
  storage
    .command('ls')
    .argument('[prefix]', 'beginning of the names')
    .description('list files of the input storage')
    .option('--output', 'those of the output storage')
    .action(
      run(async (hub, output, prefix: string | undefined, options: { output?: boolean }) => {
        const list = options.output ? api.listOutputFiles : api.listInputFiles;
        const files: StoredFile[] = [];
        let after: string | undefined;
        do {
          const query = {
            limit: PAGE_SIZE,
            ...(prefix === undefined ? {} : { prefix }),
            ...(after === undefined ? {} : { after }),
          };
          const { data } = await list({ client: hub.client, query, throwOnError: true });
          files.push(...data.files);
          after = data.next;
        } while (after !== undefined);
        print(files, output, () => table(files, COLUMNS));
        return EXIT.FINISHED;
      }),
    );
}

function addInputCommands(storage: Command, run: Run): void {
  storage
    .command('put')
    .argument('<file>')
    .argument('[name]', 'name in the storage; that of the file by default')
    .description('upload a file to the input storage; after an interruption, the same command goes on')
    .option('--overwrite', 'replace a file of this name')
    .option('--encrypt', 'store it encrypted')
    .action(
      run(
        async (
          hub,
          output,
          path: string,
          name: string | undefined,
          options: { overwrite?: boolean; encrypt?: boolean },
        ) => {
          const content = await file(path).catch((error: Error) => {
            throw new UsageError(error.message);
          });
          const { storageName } = await withUploadBar((onProgress) =>
            hub.storage.put(name ?? basename(path), content, { ...options, onProgress }),
          );
          print({ name: storageName, size: content.size }, output, () => storageName);
          return EXIT.FINISHED;
        },
      ),
    );
  storage
    .command('info')
    .argument('<name>')
    .description('say whether there is a file of this name in the input storage')
    .option('--renew', 'begin its time anew')
    .action(
      run(async (hub, output, name: string, { renew = false }: { renew?: boolean }) => {
        const exists = await hub.storage.exists(name, { renew });
        print({ name, exists }, output, () => `${name}: ${exists ? 'exists' : 'does not exist'}`);
        return exists ? EXIT.FINISHED : EXIT.FAILED;
      }),
    );
  storage
    .command('rm')
    .argument('<name>')
    .description('delete a file of the input storage')
    .action(
      run(async (hub, output, name: string) => {
        await hub.storage.delete(name);
        print({ name }, output, () => name);
        return EXIT.FINISHED;
      }),
    );
}

function addGet(storage: Command, run: Run): void {
  storage
    .command('get')
    .argument('<name>')
    .argument('[file]', 'where to save it; its name by default')
    .description('download a file of the output storage')
    .action(
      run(async (hub, output, name: string, target: string | undefined) => {
        const path = target ?? basename(name);
        const bar = new TransferBar();
        try {
          const onBytes = (bytes: number, total = bytes) => bar.update(printable(name), bytes, total);
          await saveStoredFile(hub.storage, name, path, { onBytes });
        } finally {
          bar.end();
        }
        print({ name, path }, output, () => path);
        return EXIT.FINISHED;
      }),
    );
}
