/** One blob store for each test of a file: on a real disk, with a real database for inline blobs. */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { BlobStore, OtherHolders } from '@workbench-hub/hub/core/ports/blobs';
import { type BlobDisk, type BlobFile, systemDisk } from '@workbench-hub/hub/files/blob-disk';
import { openBlobStore } from '@workbench-hub/hub/files/blob-store';
import { openSqliteStore, type SqliteTaskStore } from '@workbench-hub/hub/store/sqlite/store';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { afterEach, beforeEach } from 'vitest';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { memoryLog } from '../support/memory-log.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

export const HOUR_MS = 3_600_000;

export let runtime: HandDrivenRuntime;
export let store: SqliteTaskStore;
export let files: BlobStore;
let folder: TemporaryFolder;

/** Registers the hooks; call it once at the top of the file. */
export function blobStoreForEachTest(): void {
  beforeEach(async () => {
    folder = await temporaryFolder();
    runtime = new HandDrivenRuntime();
    store = openDatabase();
    await reopen();
  });
  afterEach(async () => {
    await store.close();
    await folder.remove();
  });
}

/** Reopens the blob store on the same folder, as a start of the hub does. */
export async function reopen({
  disk = systemDisk,
  key = 'key',
  others = null,
}: {
  readonly disk?: BlobDisk;
  readonly key?: string;
  readonly others?: OtherHolders | null;
} = {}): Promise<void> {
  const encryptionKey = Buffer.alloc(32, key);
  const inline = store.inlineBlobs;
  const { log } = memoryLog();
  files = await openBlobStore({ disk, folder: root(), inline, runtime, log, encryptionKey, others });
}

/** Reopens database and blob store, as a restart of the hub does. */
export async function restart(): Promise<void> {
  await store.close();
  store = openDatabase();
  await reopen();
}

function openDatabase(): SqliteTaskStore {
  return openSqliteStore(join(folder.path, 'hub.sqlite'), runtime.timers, memoryLog().log);
}

/** Folder of the blob store. */
export function root(): string {
  return join(folder.path, 'files');
}

/** Paths of the files below the store's folder. */
export async function onDisk(): Promise<string[]> {
  const entries = await readdir(root(), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root().length + 1));
}

/** Reads a blob as a whole; undefined when it does not exist. */
export async function read(blob: string | FileRef): Promise<Buffer | undefined> {
  const file = await files.find(blob);
  return file && Buffer.concat(await file.open().toArray());
}

export function blobOf(bytes: number, fill = 'content'): Buffer {
  return Buffer.alloc(bytes, fill);
}

export function refOf(blob: Buffer): FileRef {
  return { digest: createHash('sha256').update(blob).digest('hex'), sizeBytes: blob.length };
}

/** Gives a blob a name in the input storage. */
export async function nameBlob(name: string, ref: FileRef): Promise<void> {
  await store.namedObjects.put(
    { area: 'INPUT', name, ...ref, owner: null, storedAtMs: 0, expiresAtMs: Number.MAX_SAFE_INTEGER },
    { overwrite: false, quotaBytes: null, maxFiles: 10 },
  );
}

/** A stream that emits these bytes and breaks. */
export function broken(bytes: Buffer): Readable {
  return Readable.from(
    (async function* () {
      yield bytes;
      throw new Error('the connection broke');
    })(),
  );
}

/** The system's disk with other functions for the files that are opened for writing. */
export function diskWith(changes: (file: BlobFile) => Partial<BlobFile>): BlobDisk {
  return {
    ...systemDisk,
    open: async (path, flags) => {
      const file = await systemDisk.open(path, flags);
      return flags === 'r' ? file : { ...methodsOf(file), ...changes(file) };
    },
  };
}

/** Own properties for the methods of an open file, which are those of its class. */
function methodsOf(file: BlobFile): BlobFile {
  return {
    read: (...where) => file.read(...where),
    write: (...data) => file.write(...data),
    writev: (pieces) => file.writev(pieces),
    truncate: (sizeBytes) => file.truncate(sizeBytes),
    utimes: (accessedS, modifiedS) => file.utimes(accessedS, modifiedS),
    stat: () => file.stat(),
    datasync: () => file.datasync(),
    sync: () => file.sync(),
    close: () => file.close(),
  };
}
