/** Copies what a job made into the folder of its report. Digest and content agree, because what is hashed is what is
 *  copied; a file that changes meanwhile is copied again, and at last taken as it was read. */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import { byPath, type FileState, isOutput, isReserved, outputPath } from '../core/outputs.js';
import type { ReportFolder } from '../core/ports/spool.js';
import type { Collected } from '../core/ports/workspace.js';
import { filesOf, stateFrom } from './files-of.js';

const READS_OF_A_CHANGING_FILE = 3;
const CHUNK_BYTES = 1024 * 1024;

/** `staged` holds the state of the files as they were given to the job, by their path as latin1 text. */
export async function collect(
  directory: string,
  staged: ReadonlyMap<string, FileState>,
  into: ReportFolder,
  signal: AbortSignal,
): Promise<Collected> {
  const files: NamedFileRef[] = [];
  const leftOut: { name: string; why: string }[] = [];
  const leaveOut = (path: Buffer, why: string) => void leftOut.push({ name: path.toString(), why });

  for await (const { path: bytes, state } of filesOf(directory, leaveOut)) {
    signal.throwIfAborted();
    if (!isOutput(staged.get(bytes.toString('latin1')), state) || isReserved(bytes.toString())) continue;
    const named = outputPath(bytes);
    if ('fault' in named) {
      leaveOut(bytes, named.fault);
      continue;
    }
    const copied = await copy(Buffer.concat([Buffer.from(`${directory}/`), bytes]), into, signal);
    if ('fault' in copied) leaveOut(bytes, copied.fault);
    else if ('digest' in copied) files.push({ path: named.path, ...copied });
  }
  return { files: files.sort(byPath), leftOut };
}

/** Neither digest nor fault when there is no regular file any more. */
async function copy(
  path: Buffer,
  into: ReportFolder,
  signal: AbortSignal,
): Promise<FileRef | { fault: string } | { gone: true }> {
  let file: FileHandle;
  try {
    // Neither a link nor a pipe may have taken the file's place since it was found.
    file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return { gone: true };
    if (code === 'EACCES' || code === 'EPERM') return { fault: `it cannot be read (${code})` };
    throw error;
  }
  try {
    for (let reads = 1; ; reads++) {
      const before = await file.stat({ bigint: true });
      if (!before.isFile()) return { gone: true };
      const ref = await copyOnce(file, into, signal);
      const after = await file.stat({ bigint: true });
      const changed = isOutput(stateFrom(before), stateFrom(after));
      if (!changed || reads === READS_OF_A_CHANGING_FILE) return ref;
    }
  } finally {
    await file.close();
  }
}

async function copyOnce(file: FileHandle, into: ReportFolder, signal: AbortSignal): Promise<FileRef> {
  const writer = await into.begin();
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let position = 0; ; ) {
      signal.throwIfAborted();
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, position);
      if (bytesRead === 0) return await writer.finish();
      await writer.write(buffer.subarray(0, bytesRead));
      position += bytesRead;
    }
  } catch (error) {
    await writer.abandon().catch(() => undefined);
    throw error;
  }
}
