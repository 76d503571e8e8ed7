/** Brings what a job made into the folder of its report. Digest and content agree: a file that is moved there and does
 *  not change while it is read is taken as it is; any other is copied, and what is hashed is what is copied. A file that
 *  changes meanwhile is copied again, and at last taken as it was read. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import {
  byPath,
  type FileState,
  isOutput,
  isReserved,
  outputPath,
  outputsFault,
  storedPath,
} from '../core/outputs.js';
import { JobFailed } from '../core/ports/programs.js';
import type { MovedFile, ReportFolder } from '../core/ports/spool.js';
import type { Collected, CollectOptions } from '../core/ports/workspace.js';
import { type FoundFile, filesOf, joinBytes, stateFrom } from './files-of.js';

const READS_OF_A_CHANGING_FILE = 3;
const CHUNK_BYTES = 1024 * 1024;

/** What became of a file: neither digest nor fault when there is no regular file any more. */
type Taken = FileRef | { readonly fault: string } | { readonly gone: true };

export interface Folders {
  readonly files: string;
  readonly outputStorage: string;
}

/** `staged` holds the state of the files as they were given to the job, by their path as latin1 text. `folder` is asked for
 *  when there is something to be put into it. */
export async function collect(
  folders: Folders,
  staged: ReadonlyMap<string, FileState>,
  folder: () => Promise<ReportFolder>,
  { limits, stay, isStored }: CollectOptions,
  signal: AbortSignal,
): Promise<Collected> {
  const outputs = await find(folders.files, signal, null, ({ path, state }) => {
    if (!isOutput(staged.get(path.toString('latin1')), state) || isReserved(path.toString())) return null;
    return outputPath(path);
  });
  const stored = await find(folders.outputStorage, signal, NO_FILE, ({ path }) =>
    isStored ? storedPath(path) : { fault: STORAGE_OFF },
  );
  // Before any of them is read: a hole of many GiB takes long to read and no place on the disk.
  const fault = outputsFault([...outputs.files, ...stored.files], limits);
  if (fault !== undefined) throw new JobFailed(fault);

  if (outputs.files.length + stored.files.length === 0)
    return { files: [], leftOut: outputs.leftOut, storedFiles: [], notStored: stored.leftOut };
  const into = await folder();
  const readAll = reader(limits.fileBytes, signal);
  const takeAll = async ({ files, leaveOut }: Findings) => {
    const taken: NamedFileRef[] = [];
    for (const { bytes, at, path } of files) {
      signal.throwIfAborted();
      const file = await take(at, into, stay, readAll);
      if ('fault' in file) leaveOut(bytes, file.fault);
      else if ('digest' in file) taken.push({ path, ...file });
    }
    return taken.sort(byPath);
  };
  return {
    files: await takeAll(outputs),
    leftOut: outputs.leftOut,
    storedFiles: await takeAll(stored),
    notStored: stored.leftOut,
  };
}

const STORAGE_OFF =
  'the hub has no output storage, or it is switched off ("storage.output.enabled" of the hub)';

const NO_FILE = 'it is a link, or something else that is no file; only files are stored';

interface Findings {
  /** `bytes` is the path as it stands on the disk, beneath the folder; `at` is the whole of it. */
  readonly files: readonly { bytes: Buffer; at: Buffer; path: string; sizeBytes: number }[];
  readonly leftOut: readonly { name: string; why: string }[];
  leaveOut(path: Buffer, why: string): void;
}

/** The files of a folder that `pathOf` gives a path; null: they are none of the job's. With `whyNoOther`, what is no file is
 *  left out for this reason; with null it is passed over. */
async function find(
  folder: string,
  signal: AbortSignal,
  whyNoOther: string | null,
  pathOf: (file: FoundFile) => ReturnType<typeof outputPath> | null,
): Promise<Findings> {
  const files: Findings['files'][number][] = [];
  const leftOut: Findings['leftOut'][number][] = [];
  const leaveOut = (path: Buffer, why: string) => void leftOut.push({ name: path.toString(), why });
  const onOther = (path: Buffer) => {
    if (whyNoOther !== null) leaveOut(path, whyNoOther);
  };
  for await (const file of filesOf(folder, leaveOut, onOther)) {
    signal.throwIfAborted();
    const named = pathOf(file);
    if (!named) continue;
    const { path: bytes, state } = file;
    if ('fault' in named) leaveOut(bytes, named.fault);
    else {
      const at = joinBytes(Buffer.from(folder), bytes);
      files.push({ bytes, at, path: named.path, sizeBytes: Number(state.sizeBytes) });
    }
  }
  return { files, leftOut, leaveOut };
}

async function take(path: Buffer, into: ReportFolder, stay: boolean, readAll: ReadAll): Promise<Taken> {
  const moved = stay ? undefined : await into.move(path);
  if (moved === 'GONE') return { gone: true };
  const file = await openFile(moved?.path ?? path);
  try {
    if (!('read' in file)) return file;
    const kept = moved && (await keepMoved(moved, file, readAll));
    return kept ?? (await copy(file, into, readAll));
  } finally {
    if ('read' in file) await file.close();
    // Not there any more when it was kept.
    await moved?.discard();
  }
}

/** Neither a link nor a pipe may have taken the file's place since it was found. */
async function openFile(path: Buffer | string): Promise<FileHandle | Exclude<Taken, FileRef>> {
  try {
    return await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // ENXIO is what a socket says.
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENXIO')
      return { gone: true };
    if (code === 'EACCES' || code === 'EPERM') return { fault: `it cannot be read (${code})` };
    throw error;
  }
}

/** Undefined when somebody else may still write into the file: it has another name, or it changes while it is read. */
async function keepMoved(moved: MovedFile, file: FileHandle, readAll: ReadAll): Promise<FileRef | undefined> {
  const before = await file.stat({ bigint: true });
  if (!before.isFile() || before.nlink !== 1n) return undefined;
  const hash = createHash('sha256');
  const sizeBytes = await readAll(file, (bytes) => void hash.update(bytes));
  const after = await file.stat({ bigint: true });
  if (isOutput(stateFrom(before), stateFrom(after)) || BigInt(sizeBytes) !== after.size) return undefined;
  const digest = hash.digest('hex');
  await moved.keep(digest);
  return { digest, sizeBytes };
}

async function copy(file: FileHandle, into: ReportFolder, readAll: ReadAll): Promise<Taken> {
  for (let reads = 1; ; reads++) {
    const before = await file.stat({ bigint: true });
    if (!before.isFile()) return { gone: true };
    const ref = await copyOnce(file, into, readAll);
    const after = await file.stat({ bigint: true });
    const changed = isOutput(stateFrom(before), stateFrom(after));
    if (!changed || reads === READS_OF_A_CHANGING_FILE) return ref;
  }
}

async function copyOnce(file: FileHandle, into: ReportFolder, readAll: ReadAll): Promise<FileRef> {
  const writer = await into.begin();
  try {
    await readAll(file, (bytes) => writer.write(bytes));
    return await writer.finish();
  } catch (error) {
    await writer.abandon().catch(() => undefined);
    throw error;
  }
}

/** Reads a file from its beginning; gives how much it read. */
type ReadAll = (file: FileHandle, use: (bytes: Buffer) => Promise<void> | void) => Promise<number>;

/** Reads the next piece of a file while the last is in use, and nothing beyond `maxBytes`, if the file grows for ever. */
function reader(maxBytes: number, signal: AbortSignal): ReadAll {
  const buffers = [Buffer.allocUnsafe(CHUNK_BYTES), Buffer.allocUnsafe(CHUNK_BYTES)];
  return async (file, use) => {
    const read = (position: number) => {
      const buffer = buffers.reverse()[0] as Buffer;
      return file.read(buffer, 0, Math.min(CHUNK_BYTES, maxBytes - position), position);
    };
    let position = 0;
    let next = read(position);
    for (;;) {
      const { bytesRead, buffer } = await next;
      if (bytesRead === 0) return position;
      position += bytesRead;
      next = read(position);
      try {
        signal.throwIfAborted();
        await use(buffer.subarray(0, bytesRead));
      } catch (error) {
        // Nothing may be read from the file when it is closed.
        await next.catch(() => undefined);
        throw error;
      }
    }
  };
}
