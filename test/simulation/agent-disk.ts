/** The disk of a simulated agent: spool and file cache survive the end of its process. */
import { createHash } from 'node:crypto';
import { type BlobCache, BlobMismatch } from '@workbench-hub/agent/core/ports/blob-cache';
import type { ReportFolder, Spool } from '@workbench-hub/agent/core/ports/spool';
import type { WorkingDirectory, Workspace } from '@workbench-hub/agent/core/ports/workspace';
import type { FileRef, NamedFileRef } from '@workbench-hub/shared/domain/job';
import { POINTS_FILE } from '@workbench-hub/shared/domain/point-results';
import { attemptKey } from '@workbench-hub/shared/domain/task';
import { BlobLost, type SpooledReport } from '@workbench-hub/shared/joining/ports/spool';
import type { Process } from './process.js';

const NONE = { named: [], others: 0 };

export class AgentDisk {
  readonly reports = new Map<string, SpooledReport>();
  readonly folders = new Map<string, Map<string, Buffer>>();
  readonly cache = new Map<string, Buffer>();
  /** Partial blobs by digest. */
  readonly partials = new Map<string, Buffer>();
  /** Pins of the running process by digest: the number of jobs that need the file. */
  readonly pinned = new Map<string, number>();
  /** Files with the results of bundles in working directories, by task. */
  readonly pointResults = new Map<string, string>();
  /** Number of working directories of the running process; a start removes older ones. */
  directories = 0;
  /** True when every write fails. */
  full = false;
  folderCount = 0;
}

export function digestOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

const DISK_BYTES = 1e9;

/** Blobs are read and sent in pieces of this size. */
export const PIECE_BYTES = 100;

export function piecesOf(content: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < content.length; at += PIECE_BYTES)
    pieces.push(content.subarray(at, at + PIECE_BYTES));
  return pieces;
}

function refuseIfFull(disk: AgentDisk): void {
  if (disk.full) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
}

async function write(disk: AgentDisk, process: Process): Promise<void> {
  await process.wait(process.world.between(0, 10));
  refuseIfFull(disk);
}

/** Opens the spool as a starting process does: files that no report names are removed. */
export function simulatedSpool(disk: AgentDisk, process: Process): Spool {
  const named = new Set([...disk.reports.values()].map(({ folder }) => folder));
  for (const name of [...disk.folders.keys()]) if (!named.has(name)) disk.folders.delete(name);
  return {
    leftOver: [...disk.reports.values()],
    createFolder: async () => {
      await write(disk, process);
      const name = `folder-${++disk.folderCount}`;
      const contents = new Map<string, Buffer>();
      disk.folders.set(name, contents);
      return folderOf(name, contents, disk, process);
    },
    put: async (spooled) => {
      await write(disk, process);
      disk.reports.set(attemptKey(spooled.report), spooled);
    },
    makeRoom: () => Promise.resolve(false),
    acknowledge: async ({ report, folder }) => {
      await write(disk, process);
      disk.reports.delete(attemptKey(report));
      if (folder !== null) disk.folders.delete(folder);
    },
    read: async function* (folder, { digest }, fromByte) {
      await process.wait(1);
      const content = disk.folders.get(folder)?.get(digest);
      if (!content) throw new BlobLost(`the spooled file ${digest} is gone`);
      yield* piecesOf(content.subarray(fromByte));
    },
    readSmall: (folder, { digest }) => {
      const content = disk.folders.get(folder)?.get(digest);
      if (!content) throw new BlobLost(`the spooled file ${digest} is gone`);
      return content;
    },
    verify: async (folder, { digest }) => {
      await process.wait(1);
      if (!disk.folders.get(folder)?.has(digest)) throw new BlobLost(`the spooled file ${digest} is gone`);
    },
  };
}

function folderOf(
  name: string,
  contents: Map<string, Buffer>,
  disk: AgentDisk,
  process: Process,
): ReportFolder {
  return {
    name,
    begin: async () => {
      await write(disk, process);
      const pieces: Uint8Array[] = [];
      return {
        write: async (bytes) => {
          await write(disk, process);
          pieces.push(bytes);
        },
        finish: async () => {
          await write(disk, process);
          const content = Buffer.concat(pieces);
          const digest = digestOf(content);
          contents.set(digest, content);
          return { digest, sizeBytes: content.length };
        },
        abandon: () => Promise.resolve(),
      };
    },
    // Simulated outputs are written, never moved.
    move: () => Promise.resolve(undefined),
    discard: async () => void disk.folders.delete(name),
  };
}

export function simulatedCache(disk: AgentDisk, process: Process): BlobCache {
  disk.pinned.clear();
  return {
    pin: async ({ digest }) => {
      await process.wait(0);
      if (!disk.cache.has(digest)) return false;
      disk.pinned.set(digest, (disk.pinned.get(digest) ?? 0) + 1);
      return true;
    },
    unpin: (digest) => {
      const left = (disk.pinned.get(digest) ?? 0) - 1;
      if (left > 0) disk.pinned.set(digest, left);
      else disk.pinned.delete(digest);
    },
    expect: async () => refuseIfFull(disk),
    keptBytes: async (digest) => disk.partials.get(digest)?.length ?? 0,
    put: async ({ digest }, content, fromByte) => {
      let whole = (disk.partials.get(digest) ?? Buffer.alloc(0)).subarray(0, fromByte);
      for await (const piece of content) {
        await write(disk, process);
        whole = Buffer.concat([whole, piece]);
        disk.partials.set(digest, whole);
      }
      disk.partials.delete(digest);
      if (digestOf(whole) !== digest) throw new BlobMismatch(`${digest} is another file`);
      disk.cache.set(digest, whole);
    },
  };
}

/** Workspace whose outputs name their attempt, so that a result shows which run it is of. Some tasks also leave a file in
 *  the output storage. */
export function simulatedWorkspace(disk: AgentDisk, process: Process): Workspace {
  const { world } = process;
  disk.directories = 0;
  const read = (digest: string): void => {
    if (!disk.cache.has(digest))
      world.violated('inputs are whole', `${process.name} runs with a part of ${digest}`);
  };
  /** Writes a result of one to four pieces. */
  const writeFile = async (into: ReportFolder, content: () => string): Promise<FileRef> => {
    const writer = await into.begin();
    await writer.write(Buffer.from(content()));
    return writer.finish();
  };
  const writeResult = (into: ReportFolder, first: string) =>
    writeFile(into, () => `${first}\n${'.'.repeat(world.between(0, 3) * PIECE_BYTES)}`);
  return {
    create: async (ref) => {
      await write(disk, process);
      disk.directories++;
      const directory: WorkingDirectory = {
        files: `/jobs/${ref.taskId}`,
        outputStorage: '/storage',
        checkpoint: '/checkpoint',
        variables: '/variables',
        placeFile: async (path, digest) => {
          await write(disk, process);
          read(digest);
          return `/jobs/${path}`;
        },
        placeCheckpoint: async (_, digest) => {
          await write(disk, process);
          read(digest);
        },
        clearCheckpoint: async () => undefined,
        placeScript: async (index, digest) => {
          await write(disk, process);
          read(digest);
          return `/scripts/${index}`;
        },
        placeLocalFile: async (path) => `/jobs/${path}`,
        writeVariables: async () => undefined,
        seal: async () => undefined,
        collect: async (folder, { isStored }) => {
          const into = await folder();
          const file = await writeResult(into, resultOf(ref));
          const storedFiles: NamedFileRef[] = [];
          if (isStored && world.happens(0.3)) {
            storedFiles.push({ path: STORED_PATH, ...(await writeResult(into, resultOf(ref))) });
          }
          const files = [{ path: 'result.txt', ...file }];
          const points = disk.pointResults.get(ref.taskId);
          disk.pointResults.delete(ref.taskId);
          // Lines that are no result are passed over.
          const content = `${resultOf(ref)}\n${points}`;
          if (points !== undefined)
            files.unshift({ path: POINTS_FILE, ...(await writeFile(into, () => content)) });
          return { files, storedFiles, skipped: NONE, notStored: NONE };
        },
        // Simulated programs keep none.
        collectCheckpoint: async () => [],
        takesMore: async () => !disk.full,
        keep: async () => undefined,
        discard: async () => {
          disk.directories--;
        },
      };
      return directory;
    },
    resolve: async (path) => path,
    resolveFolders: async (paths) => [...paths],
    freeSpace: async () => [
      { use: 'jobs', freeBytes: disk.full ? 0 : DISK_BYTES, sizeBytes: DISK_BYTES, freeFiles: null },
    ],
  };
}

/** Path of the file that a task leaves in the output storage. */
export const STORED_PATH = 'stored.txt';

/** The first line of every output of an attempt. */
export function resultOf({
  taskId,
  attempt,
  instanceId,
}: {
  taskId: string;
  attempt: number;
  instanceId: string;
}): string {
  return `${taskId} attempt ${attempt} on ${instanceId}`;
}
