/** The spool: `journal.jsonl` with a line for each report that was put or acknowledged, below `files/` a folder for each report
 *  with blobs, and `reserve`, the ballast file for a report and its log on a full disk. */

import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { type AttemptRef, attemptKey } from '@workbench-hub/shared/domain/task';
import { TransferFailed } from '@workbench-hub/shared/joining/ports/hub';
import { BlobLost, type SpooledReport } from '@workbench-hub/shared/joining/ports/spool';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import { replaceFile } from '@workbench-hub/shared/runtime/replace-file';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { hasNoRoom } from '../core/host-fault.js';
import type { ReportFolder, Spool } from '../core/ports/spool.js';
import { BallastFile } from './ballast-file.js';
import { beginContent } from './blob-writer.js';
import { codeOf, type Directory } from './directory.js';
import { makeFreshDirectory } from './fresh-directory.js';
import { Journal } from './journal.js';
import { REMOVE_OR_REJECT, type RemoveLeftover } from './leftovers.js';
import { openDirectory } from './open-directory.js';
import { removeTree } from './remove-tree.js';

/** Error codes of a file that another try cannot read either: it is gone, is no file, or the disk has lost its bytes. */
const LOST_CODES: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EIO']);

/** Size below which the journal is not compacted. */
const COMPACT_AT_BYTES = 1024 * 1024;

type JournalLine = { readonly put: SpooledReport } | { readonly acknowledged: AttemptRef };

export interface OpenSpool extends Spool {
  close(): Promise<void>;
}

/** Opens the spool in `root` and removes folders that no report names. */
export async function openSpool(
  root: string,
  runtime: Runtime,
  log: Logger,
  removeLeftover: RemoveLeftover = REMOVE_OR_REJECT,
): Promise<OpenSpool> {
  const filesRoot = join(root, 'files');
  await mkdir(filesRoot, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const journalPath = join(root, 'journal.jsonl');
  const outstanding = readLines(await Journal.read(journalPath), log);
  const leftOver = [...outstanding.values()];

  const named = new Set(leftOver.map(({ folder }) => folder));
  for (const folder of await readdir(filesRoot)) {
    if (named.has(folder)) continue;
    await removeLeftover(join(filesRoot, folder), () => removeIn(filesRoot, folder));
  }

  const snapshot = () =>
    [...outstanding.values()].map((put) => JSON.stringify({ put } satisfies JournalLine));
  const journal = new Journal(journalPath, runtime, snapshot, COMPACT_AT_BYTES);
  await journal.open();
  const reserve = new BallastFile(join(root, 'reserve'));
  await reserve.take();

  return {
    leftOver,
    createFolder: async (ref) => reportFolder(filesRoot, await makeFreshDirectory(filesRoot, ref)),
    put: async (put) => {
      outstanding.set(attemptKey(put.report), put);
      const line = JSON.stringify({ put } satisfies JournalLine);
      try {
        await journal.append(line);
      } catch (error) {
        if (!hasNoRoom(error) || !(await reserve.release())) throw error;
        await journal.append(line);
      }
    },
    makeRoom: () => reserve.release(),
    acknowledge: async ({ report, folder }) => {
      const { taskId, attempt, instanceId } = report;
      outstanding.delete(attemptKey(report));
      void reserve.take();
      // A lost line only repeats the report, which the hub tolerates.
      const line = JSON.stringify({ acknowledged: { taskId, attempt, instanceId } } satisfies JournalLine);
      if (folder === null) return journal.appendLazily(line);
      try {
        await journal.append(line);
      } finally {
        // Also on a full disk. A repeated report no longer needs them.
        await removeIn(filesRoot, folder);
      }
    },
    read: (folder, file, fromByte) => readBlob(join(filesRoot, folder, file.digest), file, fromByte),
    readSmall: (folder, file) => readSmall(join(filesRoot, folder, file.digest), file),
    verify: async (folder, file) => {
      const hash = createHash('sha256');
      const path = join(filesRoot, folder, file.digest);
      for await (const chunk of readBlob(path, file, 0)) hash.update(chunk);
      const digest = hash.digest('hex');
      if (digest !== file.digest) {
        throw new BlobLost(`the spooled blob ${file.digest} has the digest ${digest} now`);
      }
    },
    close: async () => {
      await reserve.idle();
      try {
        await journal.close();
      } catch (error) {
        // Earlier lines still count; the next start reads them.
        log.error({ err: error }, 'the journal of the spool could not be compacted');
      }
    },
  };
}

function reportFolder(filesRoot: string, name: string): ReportFolder {
  const path = join(filesRoot, name);
  let begun = 0;
  return {
    name,
    begin: () => beginContent(path, `${++begun}.partial`),
    move: async (moveTo) => {
      const partial = `${++begun}.partial`;
      const moved = join(path, partial);
      try {
        await moveTo(moved);
      } catch {
        return undefined;
      }
      return {
        path: moved,
        keep: (digest) => replaceFile(moved, join(path, digest)),
        // It may be a folder that a process still changes.
        discard: () => removeIn(path, partial),
      };
    },
    discard: () => removeIn(filesRoot, name),
  };
}

/** Removes an entry of a folder; both may be missing. */
async function removeIn(folder: string, name: string): Promise<void> {
  let directory: Directory;
  try {
    directory = openDirectory(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  try {
    await removeTree(directory, name);
  } finally {
    directory.close();
  }
}

function readLines(lines: readonly string[], log: Logger): Map<string, SpooledReport> {
  const outstanding = new Map<string, SpooledReport>();
  for (const text of lines) {
    let line: JournalLine;
    try {
      line = JSON.parse(text) as JournalLine;
    } catch (error) {
      log.error({ err: error }, 'skipped a damaged line in the journal of the spool');
      continue;
    }
    if ('put' in line) outstanding.set(attemptKey(line.put.report satisfies AttemptReport), line.put);
    else outstanding.delete(attemptKey(line.acknowledged));
  }
  return outstanding;
}

function readSmall(path: string, { digest }: FileRef): Buffer {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    throw unread(digest, error);
  }
  const actual = createHash('sha256').update(content).digest('hex');
  if (actual !== digest) throw new BlobLost(`the spooled blob ${digest} has the digest ${actual} now`);
  return content;
}

async function* readBlob(
  path: string,
  { digest, sizeBytes }: FileRef,
  fromByte: number,
): AsyncGenerator<Uint8Array> {
  let position = fromByte;
  try {
    const options = { highWaterMark: 256 * 1024, start: fromByte };
    for await (const chunk of createReadStream(path, options) as AsyncIterable<Buffer>) {
      position += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throw unread(digest, error);
  }
  if (position !== sizeBytes) {
    throw new BlobLost(`the spooled blob ${digest} has ${position} instead of ${sizeBytes} bytes`);
  }
}

/** The error of a blob that could not be read: lost, or to be tried again, such as with too many open files. */
function unread(digest: string, error: unknown): BlobLost | TransferFailed {
  const message = `the spooled blob ${digest} cannot be read: ${messageOf(error)}`;
  return LOST_CODES.has(codeOf(error))
    ? new BlobLost(message, { cause: error })
    : new TransferFailed('UNAVAILABLE', message, { cause: error });
}
