/** Brings what a job made into the folder of its report. Digest and content agree: a file that is moved there and does
 *  not change while it is read is taken as it is; any other is copied, and what is hashed is what is copied. A file that
 *  changes meanwhile is copied again, and at last taken as it was read. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import { byPath, type FileState, isOutput, isReserved, outputPath, outputsFault } from '../core/outputs.js';
import { JobFailed } from '../core/ports/programs.js';
import type { MovedFile, ReportFolder } from '../core/ports/spool.js';
import type { Collected, CollectOptions } from '../core/ports/workspace.js';
import { filesOf, joinBytes, stateFrom } from './files-of.js';

const READS_OF_A_CHANGING_FILE = 3;
const CHUNK_BYTES = 1024 * 1024;

/** What became of a file: neither digest nor fault when there is no regular file any more. */
type Taken = FileRef | { readonly fault: string } | { readonly gone: true };

/** `staged` holds the state of the files as they were given to the job, by their path as latin1 text. */
export async function collect(
  directory: string,
  staged: ReadonlyMap<string, FileState>,
  into: ReportFolder,
  { limits, stay }: CollectOptions,
  signal: AbortSignal,
): Promise<Collected> {
  const found: { bytes: Buffer; path: string; sizeBytes: number }[] = [];
  const leftOut: { name: string; why: string }[] = [];
  const leaveOut = (path: Buffer, why: string) => void leftOut.push({ name: path.toString(), why });

  for await (const { path: bytes, state } of filesOf(directory, leaveOut)) {
    signal.throwIfAborted();
    if (!isOutput(staged.get(bytes.toString('latin1')), state) || isReserved(bytes.toString())) continue;
    const named = outputPath(bytes);
    if ('fault' in named) leaveOut(bytes, named.fault);
    else found.push({ bytes, path: named.path, sizeBytes: Number(state.sizeBytes) });
  }
  // Before any of them is read: a hole of many GiB takes long to read and no place on the disk.
  const fault = outputsFault(found, limits);
  if (fault !== undefined) throw new JobFailed(fault);

  const readAll = reader(limits.fileBytes, signal);
  const files: NamedFileRef[] = [];
  for (const { bytes, path } of found) {
    signal.throwIfAborted();
    const taken = await take(joinBytes(Buffer.from(directory), bytes), into, stay, readAll);
    if ('fault' in taken) leaveOut(bytes, taken.fault);
    else if ('digest' in taken) files.push({ path, ...taken });
  }
  return { files: files.sort(byPath), leftOut };
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
