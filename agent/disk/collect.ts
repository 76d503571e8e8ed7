/** Moves or copies the outputs of a job into the folder of its report. Digest and content agree: a moved file that does not
 *  change while it is read is kept as it is; any other is copied, and the copied bytes are hashed. A file that changes
 *  meanwhile is copied again, and finally kept as it was read. */
import { createHash } from 'node:crypto';
import { type BigIntStats, lstatSync, readSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import { byPath } from '@workbench-hub/shared/domain/relative-path';
import {
  type FileState,
  isOutput,
  isReserved,
  type OutputLimits,
  outputExcess,
  outputPath,
  outputsFault,
  storedPath,
  tooManyFiles,
} from '../core/outputs.js';
import { JobFailed } from '../core/ports/programs.js';
import type { MovedFile, ReportFolder } from '../core/ports/spool.js';
import type { Collected, CollectOptions, SkippedOutput, SkippedOutputs } from '../core/ports/workspace.js';
import { codeOf, type Directory } from './directory.js';
import { DirectoryWalk } from './directory-walk.js';
import { isGone, type ListedFile, listFiles, stateFrom } from './list-files.js';

const READS_OF_A_CHANGING_FILE = 3;
const CHUNK_BYTES = 1024 * 1024;
/** Size up to which a file is read at once: a thread would cost more. */
const SMALL_BYTES = 64 * 1024;

/** Result for one file; `gone` when it is no longer a regular file. */
type Taken = FileRef | { readonly fault: string } | { readonly gone: true };

/** Folders of a job; undefined for one that it removed or replaced. */
export interface Folders {
  readonly files: Directory | undefined;
  readonly outputStorage: Directory | undefined;
}

/** Collects the outputs. `staged` holds the state of the staged files by path (latin1). `folder` is called when there is an
 *  output. */
export async function collect(
  folders: Folders,
  staged: ReadonlyMap<string, FileState>,
  folder: () => Promise<ReportFolder>,
  { limits, isPartial, stay, isStored }: CollectOptions,
): Promise<Collected> {
  const excess = limiter(limits, isPartial);
  const outputs = await find(folders.files, excess, null, ({ path, state }) => {
    if (!isOutput(staged.get(path.toString('latin1')), state) || isReserved(path.toString())) return null;
    return outputPath(path);
  });
  const stored = await find(folders.outputStorage, excess, NO_FILE, ({ path }) =>
    isStored ? storedPath(path) : { fault: STORAGE_OFF },
  );
  // Before any file is read: a sparse file of many GiB takes long to read and no disk space.
  const fault = isPartial ? undefined : outputsFault([...outputs.files, ...stored.files], limits);
  if (fault !== undefined) throw new JobFailed(fault);

  if (outputs.files.length + stored.files.length === 0)
    return { files: [], skipped: outputs.skipped, storedFiles: [], notStored: stored.skipped };
  const taking = { into: await folder(), stay, readAll: reader(limits.fileBytes) };
  return {
    files: await takeAll(folders.files, outputs, taking),
    skipped: outputs.skipped,
    storedFiles: await takeAll(folders.outputStorage, stored, taking),
    notStored: stored.skipped,
  };
}

/** Collects every file of a folder. Rejects with {@link JobFailed} when something in it cannot be taken, and when the files exceed the
 *  limits. */
export async function collectWhole(
  top: Directory,
  folder: () => Promise<ReportFolder>,
  { limits, stay }: Pick<CollectOptions, 'limits' | 'stay'>,
): Promise<NamedFileRef[]> {
  const found = await find(top, limiter(limits, false), NO_FILE, ({ path }) => outputPath(path));
  const refuseSkipped = () => {
    const [first] = found.skipped.named;
    if (first) throw new JobFailed(`${JSON.stringify(first.name)}: ${first.why}`);
  };
  refuseSkipped();
  const fault = outputsFault(found.files, limits);
  if (fault !== undefined) throw new JobFailed(fault);
  if (found.files.length === 0) return [];
  const taken = await takeAll(top, found, {
    into: await folder(),
    stay,
    readAll: reader(limits.fileBytes),
  });
  refuseSkipped();
  return taken;
}

interface Taking {
  readonly into: ReportFolder;
  readonly stay: boolean;
  readonly readAll: ReadAll;
}

/** Takes the files that were found in a folder, sorted by path. */
async function takeAll(
  top: Directory | undefined,
  { files, skip }: Findings,
  { into, stay, readAll }: Taking,
): Promise<NamedFileRef[]> {
  const taken: NamedFileRef[] = [];
  if (top === undefined) return taken;
  const descent = new DirectoryWalk(top);
  try {
    for (const { found, path } of files) {
      const file = await take(descent, found, into, stay, readAll);
      if ('fault' in file) skip(found.path, file.fault);
      else if ('digest' in file) taken.push({ path, ...file });
    }
  } finally {
    descent.close();
  }
  return taken.sort(byPath);
}

const STORAGE_OFF =
  'the hub has no output storage, or it is switched off ("storage.output.enabled" of the hub)';

const NO_FILE = 'it is a link or another special file; only regular files are stored';

interface Findings {
  readonly files: readonly { found: ListedFile; path: string; sizeBytes: number }[];
  readonly skipped: SkippedOutputs;
  skip(path: Buffer, why: string): void;
}

/** Number of entries that are named as no outputs. */
const MAX_NAMED = 1000;

/** Takes the sizes of outputs one by one; returns the reason why one is skipped. Throws {@link JobFailed} as soon as there are too many,
 *  unless the job was ended early. */
function limiter(limits: OutputLimits, isPartial: boolean): (sizeBytes: number) => string | undefined {
  if (isPartial) return outputExcess(limits);
  let files = 0;
  return () => {
    if (++files > limits.files) throw new JobFailed(tooManyFiles(limits));
    return undefined;
  };
}

/** Files of a folder for which `pathOf` returns a path; null: not an output. Entries that are not files are skipped with the
 *  reason `whyNoOther`, or silently when it is null; files with the reason of `excess`. */
async function find(
  top: Directory | undefined,
  excess: (sizeBytes: number) => string | undefined,
  whyNoOther: string | null,
  pathOf: (file: ListedFile) => ReturnType<typeof outputPath> | null,
): Promise<Findings> {
  const files: Findings['files'][number][] = [];
  const named: SkippedOutput[] = [];
  const skipped = { named, others: 0 };
  const skip = (path: Buffer, why: string) => {
    if (named.length < MAX_NAMED) named.push({ name: path.toString(), why });
    else skipped.others++;
  };
  const onOther = (path: Buffer) => {
    if (whyNoOther !== null) skip(path, whyNoOther);
  };
  if (top === undefined) return { files, skipped, skip };
  for await (const found of listFiles(top, skip, onOther)) {
    const output = pathOf(found);
    if (!output) continue;
    const sizeBytes = Number(found.state.sizeBytes);
    const why = 'fault' in output ? output.fault : excess(sizeBytes);
    if (why !== undefined) skip(found.path, why);
    else if ('path' in output) files.push({ found, path: output.path, sizeBytes });
  }
  return { files, skipped, skip };
}

async function take(
  descent: DirectoryWalk,
  { folder, name }: ListedFile,
  into: ReportFolder,
  stay: boolean,
  readAll: ReadAll,
): Promise<Taken> {
  let directory: Directory;
  let file: FileHandle;
  try {
    directory = descent.to(folder);
    file = await directory.openFile(name);
  } catch (error) {
    if (isGone(error)) return { gone: true };
    const code = codeOf(error);
    if (code === 'EACCES' || code === 'EPERM') return { fault: `it cannot be read (${code})` };
    throw error;
  }
  try {
    const opened = await file.stat({ bigint: true });
    if (!opened.isFile()) return { gone: true };
    if (!stay && opened.nlink === 1n) {
      const moved = await into.move((path) => directory.moveOut(name, path));
      const kept = moved && (await keepOrDiscard(moved, file, opened, readAll));
      if (kept) return kept;
    }
    return await copy(file, into, readAll);
  } finally {
    await file.close();
  }
}

/** The moved file as it is kept; undefined when it was discarded instead, and must be copied. */
async function keepOrDiscard(
  moved: MovedFile,
  file: FileHandle,
  opened: BigIntStats,
  readAll: ReadAll,
): Promise<FileRef | undefined> {
  let kept: FileRef | undefined;
  try {
    kept = await keepMoved(moved, file, opened, readAll);
  } finally {
    if (!kept) await moved.discard();
  }
  return kept;
}

/** The moved file; undefined when it is not the opened one, or when somebody may still write into it: it has another name, or
 *  changes while it is read. */
async function keepMoved(
  moved: MovedFile,
  file: FileHandle,
  opened: BigIntStats,
  readAll: ReadAll,
): Promise<FileRef | undefined> {
  const before = lstatSync(moved.path, { bigint: true });
  if (before.dev !== opened.dev || before.ino !== opened.ino || before.nlink !== 1n) return undefined;
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

/** Reads a file from its beginning; returns the number of bytes. */
type ReadAll = (file: FileHandle, use: (bytes: Buffer) => Promise<void> | void) => Promise<number>;

/** Reads the next piece while the last is in use, and no more than `maxBytes` of a growing file. */
function reader(maxBytes: number): ReadAll {
  let buffers: Buffer[] | undefined;
  return async (file, use) => {
    const beginning = readNow(file, Math.min(SMALL_BYTES, maxBytes));
    if (beginning.length > 0) await use(beginning);
    if (beginning.length < SMALL_BYTES) return beginning.length;
    buffers ??= [Buffer.allocUnsafe(CHUNK_BYTES), Buffer.allocUnsafe(CHUNK_BYTES)];
    const large = buffers;
    const read = (position: number) => {
      const buffer = large.reverse()[0] as Buffer;
      return file.read(buffer, 0, Math.min(CHUNK_BYTES, maxBytes - position), position);
    };
    let position = beginning.length;
    let next = read(position);
    for (;;) {
      const { bytesRead, buffer } = await next;
      if (bytesRead === 0) return position;
      position += bytesRead;
      next = read(position);
      try {
        await use(buffer.subarray(0, bytesRead));
      } catch (error) {
        // The pending read must end before the file is closed.
        await next.catch(() => undefined);
        throw error;
      }
    }
  };
}

/** Reads the beginning of a file, and all of it if there is less. */
function readNow(file: FileHandle, maxBytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(maxBytes);
  let sizeBytes = 0;
  for (;;) {
    const read = readSync(file.fd, buffer, sizeBytes, maxBytes - sizeBytes, sizeBytes);
    sizeBytes += read;
    if (read === 0 || sizeBytes === maxBytes) return buffer.subarray(0, sizeBytes);
  }
}
