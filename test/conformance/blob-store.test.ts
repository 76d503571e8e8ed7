/** Contents of files on a real disk, with a real database for the small ones. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  BlobTooLarge,
  DigestMismatch,
  type FileStore,
  TransferInProgress,
  WrongOffset,
} from '@workbench-hub/hub/core/ports/files';
import { type BlobDisk, type BlobFile, systemDisk } from '@workbench-hub/hub/files/blob-disk';
import { MAX_INLINE_BYTES, openBlobStore } from '@workbench-hub/hub/files/blob-store';
import { openSqliteStore, type SqliteTaskStore } from '@workbench-hub/hub/store/sqlite/store';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { HandDrivenRuntime } from '../support/hand-driven-runtime.js';
import { memoryLog } from '../support/memory-log.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';
import { newTask } from './store-under-test.js';

const HOUR_MS = 3_600_000;

const KEY = Buffer.alloc(32, 'key');

let folder: TemporaryFolder;
let runtime: HandDrivenRuntime;
let store: SqliteTaskStore;
let files: FileStore;

beforeEach(async () => {
  folder = await temporaryFolder();
  runtime = new HandDrivenRuntime();
  store = openSqliteStore(join(folder.path, 'hub.sqlite'), runtime.timers, memoryLog().log);
  files = await open();
});
afterEach(async () => {
  await store.close();
  await folder.remove();
});

const root = () => join(folder.path, 'files');
const open = (disk: BlobDisk = systemDisk): Promise<FileStore> =>
  openBlobStore({
    disk,
    folder: root(),
    inline: store.inlineBlobs,
    runtime,
    log: memoryLog().log,
    encryptionKey: KEY,
  });
const refOf = (content: Buffer) => ({
  digest: createHash('sha256').update(content).digest('hex'),
  sizeBytes: content.length,
});
const contentOf = (bytes: number, fill = 'content') => Buffer.alloc(bytes, fill);

/** Paths of the files below the store's folder. */
async function onDisk(): Promise<string[]> {
  const entries = await readdir(root(), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root().length + 1));
}

const SIZES = [0, 1, MAX_INLINE_BYTES, MAX_INLINE_BYTES + 1, 3 * 1024 * 1024 + 1];

async function read(digest: string): Promise<Buffer | undefined> {
  const file = await files.find(digest);
  return file && Buffer.concat(await file.open().toArray());
}

describe('a blob', () => {
  it.each(SIZES)('of %d bytes can be put and read', async (bytes) => {
    const content = contentOf(bytes);
    const ref = refOf(content);
    expect(await files.put(content)).toEqual(ref);
    expect(await files.find(ref.digest)).toMatchObject({ sizeBytes: bytes });
    expect((await read(ref.digest))?.equals(content)).toBe(true);
    const large = bytes > MAX_INLINE_BYTES;
    expect(await onDisk()).toEqual(large ? [join(ref.digest.slice(0, 2), ref.digest)] : []);
  });

  it.each(SIZES)('of %d bytes can be received as a stream', async (bytes) => {
    const content = contentOf(bytes);
    const ref = refOf(content);
    await files.receive(ref, Readable.from([content.subarray(0, 10), content.subarray(10)]));
    expect((await read(ref.digest))?.equals(content)).toBe(true);
  });

  it.each(SIZES)('of %d bytes can be stored as a stream whose digest nobody knows', async (bytes) => {
    const content = contentOf(bytes);
    const pieces = Readable.from([content.subarray(0, 10), content.subarray(10)]);
    expect(await files.store(pieces, bytes)).toEqual(refOf(content));
    expect((await read(refOf(content).digest))?.equals(content)).toBe(true);
  });

  it.each(SIZES.slice(1))('of %d bytes can be read in part', async (bytes) => {
    const content = Buffer.from(Array.from({ length: bytes }, (_, at) => at % 251));
    const { digest } = await files.put(content);
    const file = await files.find(digest);
    for (const [start, end] of [
      [0, bytes],
      [0, 1],
      [bytes - 1, bytes],
      [Math.floor(bytes / 2), Math.floor(bytes / 2)],
      [Math.floor(bytes / 3), bytes],
    ] as const) {
      const read = Buffer.concat((await file?.open({ start, end }).toArray()) as Buffer[]);
      expect(read.equals(content.subarray(start, end)), `${start} to ${end}`).toBe(true);
    }
  });

  it.each(SIZES.slice(1))(
    'of %d bytes is refused when fewer are allowed, and leaves nothing',
    async (bytes) => {
      const content = contentOf(bytes);
      await expect(files.store(Readable.from([content]), bytes - 1)).rejects.toBeInstanceOf(BlobTooLarge);
      expect(await files.find(refOf(content).digest)).toBeUndefined();
      expect(await onDisk()).toEqual([]);
    },
  );

  it('of a stream that breaks leaves nothing', async () => {
    async function* broken() {
      yield contentOf(100_000);
      throw new Error('the connection was cut');
    }
    await expect(files.store(broken(), 1_000_000)).rejects.toThrow('the connection was cut');
    expect(await onDisk()).toEqual([]);
  });

  it('is kept once, however often it comes', async () => {
    const content = contentOf(100_000);
    await Promise.all([
      files.put(content),
      files.put(content),
      files.receive(refOf(content), Readable.from([content])),
    ]);
    expect(await onDisk()).toHaveLength(1);
    expect((await read(refOf(content).digest))?.equals(content)).toBe(true);
  });

  it('that is not there is undefined', async () => {
    expect(await files.find('a'.repeat(64))).toBeUndefined();
    expect(await read('a'.repeat(64))).toBeUndefined();
  });

  it('is there after a restart', async () => {
    const contents = [contentOf(10), contentOf(100_000)];
    for (const content of contents) await files.put(content);
    await store.close();
    store = openSqliteStore(join(folder.path, 'hub.sqlite'), runtime.timers, memoryLog().log);
    files = await open();
    for (const content of contents) {
      expect((await read(refOf(content).digest))?.equals(content)).toBe(true);
    }
  });
});

describe('a blob that is not the one announced', () => {
  it.each([
    ['small, with another digest', contentOf(10), { digest: 'b'.repeat(64), sizeBytes: 10 }],
    ['small, shorter', contentOf(9), { ...refOf(contentOf(9)), sizeBytes: 10 }],
    ['small, longer', contentOf(11), { ...refOf(contentOf(11)), sizeBytes: 10 }],
    ['large, with another digest', contentOf(100_000), { digest: 'b'.repeat(64), sizeBytes: 100_000 }],
    ['large, shorter', contentOf(99_999), { ...refOf(contentOf(99_999)), sizeBytes: 100_000 }],
    ['large, longer', contentOf(100_001), { ...refOf(contentOf(100_001)), sizeBytes: 100_000 }],
    ['large, though announced small', contentOf(100_000), { ...refOf(contentOf(100_000)), sizeBytes: 10 }],
  ])('is refused and leaves nothing: %s', async (_, content, announced) => {
    const pieces = Readable.from([content.subarray(0, 5), content.subarray(5)]);
    await expect(files.receive(announced, pieces)).rejects.toBeInstanceOf(DigestMismatch);
    expect(await files.find(announced.digest)).toBeUndefined();
    expect(await onDisk()).toEqual([]);
  });

  it('leaves nothing of what came before it, either', async () => {
    const content = contentOf(100_000);
    const ref = refOf(content);
    await expect(files.receive(ref, broken(content.subarray(0, 50_000)))).rejects.toThrow('broke');
    const other = contentOf(50_000, 'other');
    await expect(files.receive(ref, Readable.from([other]), 50_000)).rejects.toThrow(DigestMismatch);
    expect(await files.receivedBytes(ref.digest)).toBe(0);
    expect(await onDisk()).toEqual([]);
  });
});

/** The members of an open file, whose methods are those of its class. */
function within(file: BlobFile): BlobFile {
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

/** A stream that gives this and breaks. */
function broken(bytes: Buffer): Readable {
  return Readable.from(
    (async function* () {
      yield bytes;
      throw new Error('the connection broke');
    })(),
  );
}

/** A stream that gives what it is given, and stays open. */
function openEnded(...chunks: Buffer[]): Readable {
  const stream = new Readable({ read: () => undefined });
  for (const chunk of chunks) stream.push(chunk);
  return stream;
}

describe('a blob whose stream breaks', () => {
  const content = Buffer.from(Array.from({ length: 3_000_000 }, (_, at) => at % 251));
  const ref = refOf(content);
  const rest = (from: number) => Readable.from([content.subarray(from)]);

  it.each([1, 300_000, 1_500_000, 2_999_999])('after %d bytes is gone on with from there', async (bytes) => {
    await expect(files.receive(ref, broken(content.subarray(0, bytes)))).rejects.toThrow('broke');
    expect(await files.find(ref.digest)).toBeUndefined();
    expect(await files.receivedBytes(ref.digest)).toBe(bytes);
    await files.receive(ref, rest(bytes), bytes);
    expect((await read(ref.digest))?.equals(content)).toBe(true);
    expect(await files.receivedBytes(ref.digest)).toBe(0);
    expect(await onDisk()).toHaveLength(1);
  });

  it('again and again comes nearer to its end each time, also after a restart', async () => {
    for (let from = 0; from < 3_000_000; from += 500_000) {
      expect(await files.receivedBytes(ref.digest)).toBe(from);
      const piece = content.subarray(from, from + 500_000);
      await expect(files.receive(ref, broken(piece), from)).rejects.toThrow('broke');
      files = await open();
    }
    await files.receive(ref, rest(0), 0);
    expect((await read(ref.digest))?.equals(content)).toBe(true);
  });

  it('is sent from its beginning by those who know nothing of what is kept', async () => {
    await expect(files.receive(ref, broken(content.subarray(0, 1000)))).rejects.toThrow('broke');
    await files.receive(ref, rest(0));
    expect((await read(ref.digest))?.equals(content)).toBe(true);
    expect(await onDisk()).toHaveLength(1);
  });

  it('is not gone on with from elsewhere, and what is kept stays', async () => {
    await expect(files.receive(ref, rest(10), 10)).rejects.toMatchObject({ receivedBytes: 0 });
    expect(await onDisk()).toEqual([]);
    await expect(files.receive(ref, broken(content.subarray(0, 1000)))).rejects.toThrow('broke');
    for (const from of [999, 1001]) {
      const refusal = files.receive(ref, rest(from), from);
      await expect(refusal).rejects.toThrow(WrongOffset);
      await expect(refusal).rejects.toMatchObject({ receivedBytes: 1000 });
    }
    expect(await files.receivedBytes(ref.digest)).toBe(1000);
  });

  it('is received from one sender at a time, unless that one has fallen silent', async () => {
    const silent = openEnded(content.subarray(0, 1_100_000));
    const first = files.receive(ref, silent);
    const firstEnds = expect(first).rejects.toThrow('another connection continues');
    await eventually(async () => (await files.receivedBytes(ref.digest)) === 1_100_000);
    runtime.skip(9_000);
    await expect(files.receive(ref, rest(0))).rejects.toThrow(TransferInProgress);
    await expect(files.receive(ref, rest(1_100_000), 1_100_000)).rejects.toThrow(TransferInProgress);
    runtime.skip(1_000);
    await files.receive(ref, rest(1_100_000), 1_100_000);
    await firstEnds;
    expect((await read(ref.digest))?.equals(content)).toBe(true);
  });

  it('is received from one of several who find that its sender has fallen silent', async () => {
    const silent = openEnded(content.subarray(0, 1_100_000));
    const first = files.receive(ref, silent);
    const firstEnds = expect(first).rejects.toThrow('another connection continues');
    await eventually(async () => (await files.receivedBytes(ref.digest)) === 1_100_000);
    runtime.skip(10_000);
    const both = [1, 2].map(() => files.receive(ref, rest(1_100_000), 1_100_000));
    const [second, third] = await Promise.allSettled(both);
    await firstEnds;
    expect(second).toMatchObject({ status: 'fulfilled' });
    expect(third).toMatchObject({ status: 'rejected', reason: expect.any(TransferInProgress) });
    expect((await read(ref.digest))?.equals(content)).toBe(true);
  });

  it('stays with a sender for whom the hub reads what is kept, however long that takes', async () => {
    await expect(files.receive(ref, broken(content.subarray(0, 1_100_000)))).rejects.toThrow('broke');
    const first = files.receive(ref, rest(1_100_000), 1_100_000);
    runtime.skip(60_000);
    await expect(files.receive(ref, rest(1_100_000), 1_100_000)).rejects.toThrow(TransferInProgress);
    await first;
    expect((await read(ref.digest))?.equals(content)).toBe(true);
  });

  it('is swept when nobody goes on with it for long', async () => {
    await expect(files.receive(ref, broken(content.subarray(0, 1000)))).rejects.toThrow('broke');
    runtime.skip(HOUR_MS);
    expect(await files.sweep(HOUR_MS)).toBe(0);
    runtime.skip(1);
    expect(await files.sweep(HOUR_MS)).toBe(1);
    expect(await onDisk()).toEqual([]);
  });
});

describe('the disk', () => {
  const content = contentOf(100_000);

  /** A disk that tells of what has to come in this order. */
  function telling(): { readonly disk: BlobDisk; readonly told: string[] } {
    const told: string[] = [];
    const nameOf = (path: string) => path.slice(root().length + 1).replace(/\/.*/, '/…');
    const folderOf = (path: string) => nameOf(path).replace(/^[0-9a-f]{2}$/, '…') || 'files';
    const disk: BlobDisk = {
      ...systemDisk,
      open: async (path, flags) => {
        const file = await systemDisk.open(path, flags);
        if (flags === 'r') return file;
        return {
          ...within(file),
          writev: (pieces) => {
            told.push('write');
            return file.writev(pieces);
          },
          write: (...data) => {
            told.push('write');
            return file.write(...data);
          },
          sync: () => {
            told.push('sync');
            return file.sync();
          },
        };
      },
      rename: (from, to) => {
        told.push(`rename to ${nameOf(to).replace(/^../, 'xx')}`);
        return systemDisk.rename(from, to);
      },
      syncFolder: (path) => {
        told.push(`sync ${folderOf(path)}`);
        return systemDisk.syncFolder(path);
      },
    };
    return { disk, told };
  }

  it.each<[string, (files: FileStore) => Promise<unknown>]>([
    ['put', (files) => files.put(content)],
    ['stored', (files) => files.store(Readable.from([content]), 1e6)],
    ['stored encrypted', (files) => files.storeEncrypted(Readable.from([content]), 1e6)],
    ['received', (files) => files.receive(refOf(content), Readable.from([content]))],
  ])('has a blob whole before its name, and the name before the answer, when it is %s', async (_, keep) => {
    const { disk, told } = telling();
    files = await open(disk);
    told.splice(0);
    await keep(files);
    const distinct = told.filter((step, at) => step !== told[at - 1]);
    expect(distinct).toEqual(['write', 'sync', 'rename to xx/…', 'sync …', 'sync files']);
  });

  it('has the names that a killed hub gave before anybody finds a blob', async () => {
    await files.put(content);
    const { disk, told } = telling();
    files = await open(disk);
    expect(told.slice(0, 2)).toEqual(['sync …', 'sync files']);
  });

  it('that is full keeps nothing of what did not fit', async () => {
    const full: BlobDisk = {
      ...systemDisk,
      open: async (path, flags) => {
        const file = await systemDisk.open(path, flags);
        let writes = 0;
        const writev: BlobFile['writev'] = (pieces) => {
          if (++writes === 1) return file.writev(pieces);
          return Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' }));
        };
        return flags === 'r' ? file : { ...within(file), writev };
      },
    };
    files = await open(full);
    const large = contentOf(5_000_000);
    const pieces = () => Readable.from([1, 2, 3, 4, 5].map((at) => large.subarray((at - 1) * 1e6, at * 1e6)));
    for (const keep of [
      () => files.receive(refOf(large), pieces()),
      () => files.store(pieces(), 1e7),
      () => files.storeEncrypted(pieces(), 1e7),
    ]) {
      await expect(keep()).rejects.toMatchObject({ code: 'STORAGE_FULL' });
      expect(await onDisk()).toEqual([]);
    }
  });

  it('that is full gets room from what broke off, the oldest first', async () => {
    const old = [contentOf(100_001), contentOf(100_002), contentOf(100_003)];
    for (const each of old) {
      await expect(files.receive(refOf(each), broken(each.subarray(0, 50_000)))).rejects.toThrow('broke');
      runtime.skip(1000);
    }
    const small: BlobDisk = {
      ...systemDisk,
      freeBytes: async () =>
        220_000 - 50_000 * (await onDisk()).filter((name) => name.endsWith('.partial')).length,
    };
    files = await open(small);
    await files.receive(refOf(content), Readable.from([content]));
    const kept = await Promise.all(old.map((each) => files.receivedBytes(refOf(each).digest)));
    expect(kept).toEqual([0, 0, 50_000]);
    await expect(files.receive(refOf(contentOf(200_000)), Readable.from([]))).rejects.toMatchObject({
      code: 'STORAGE_FULL',
    });
  });
});

describe('a blob that is held', () => {
  const content = contentOf(100_000);
  const small = contentOf(100);

  /** Gives both a name and takes it from them. */
  async function drop(): Promise<void> {
    for (const [name, ref] of [['a', refOf(content)] as const, ['b', refOf(small)] as const]) {
      await store.namedObjects.put(
        { area: 'INPUT', name, ...ref, owner: null, storedAtMs: 0, expiresAtMs: Number.MAX_SAFE_INTEGER },
        { overwrite: false, quotaBytes: null, maxFiles: 10 },
      );
      await store.namedObjects.remove('INPUT', name);
    }
  }
  const there = async () => [
    (await onDisk()).length === 1,
    (await store.inlineBlobs.find(refOf(small).digest)) !== undefined,
  ];

  it('stays when it loses its last name, and goes when it is released', async () => {
    const hold = files.hold();
    for (const each of [content, small]) await files.put(each, hold);
    await drop();
    await files.reclaim();
    expect(await there()).toEqual([true, true]);
    runtime.skip(2 * HOUR_MS);
    expect(await files.sweep(HOUR_MS)).toBe(0);
    hold.release();
    await runtime.advance(1000);
    await files.reclaim();
    expect(await there()).toEqual([false, false]);
    expect(await store.inlineBlobs.dropped(0, 10)).toEqual([]);
  });

  it('is held also by a second one', async () => {
    const [first, second] = [files.hold(), files.hold()];
    await files.put(content, first);
    await files.find(refOf(content), second);
    await files.put(small, second);
    await drop();
    first.abandon();
    await files.reclaim();
    expect(await there()).toEqual([true, true]);
    second.abandon();
    await files.reclaim();
    expect(await there()).toEqual([false, false]);
  });

  it('and abandoned goes at once, unless something names it', async () => {
    const hold = files.hold();
    for (const each of [content, small]) await files.put(each, hold);
    await store.namedObjects.put(
      { area: 'INPUT', name: 'a', ...refOf(content), owner: null, storedAtMs: 0, expiresAtMs: 1 },
      { overwrite: false, quotaBytes: null, maxFiles: 10 },
    );
    hold.abandon();
    await files.reclaim();
    expect(await there()).toEqual([true, false]);
  });

  it('is there for some seconds after somebody found it, so that it can be opened', async () => {
    for (const each of [content, small]) await files.put(each);
    const file = await files.find(refOf(content));
    await drop();
    await files.reclaim();
    expect((await file?.open().toArray())?.length).toBeGreaterThan(0);
    runtime.skip(5000);
    await files.reclaim();
    expect(await there()).toEqual([false, false]);
  });

  it('is found again or stored again whenever it is removed at the same moment', async () => {
    for (let round = 0; round < 20; round++) {
      for (const each of [content, small]) await files.put(each);
      await drop();
      const hold = files.hold();
      const [, ...refs] = await Promise.all([
        files.reclaim(),
        files.put(content, hold),
        files.store(Readable.from([content]), 1e6, hold),
        files.receive(refOf(content), Readable.from([content]), 0, hold),
        files.put(small, hold),
      ]);
      expect(refs[0]).toEqual(refOf(content));
      await files.reclaim();
      expect(await there()).toEqual([true, true]);
      hold.abandon();
      await files.reclaim();
    }
  });

  it('is removed after a restart when the hub was killed before', async () => {
    for (const each of [content, small]) await files.put(each);
    await drop();
    await store.close();
    store = openSqliteStore(join(folder.path, 'hub.sqlite'), runtime.timers, memoryLog().log);
    files = await open();
    await files.reclaim();
    expect(await there()).toEqual([false, false]);
  });
});

describe('the name of an encrypted blob', () => {
  const content = Buffer.from('a content of before names were keyed');
  const ref = { ...refOf(content), encrypted: true } as const;
  const FORMER =
    'V0JIRU5DAAFc7lPw12svhtYWZQcmFO/ScJmnhGgiHKC/NNrruxjvzGktav9pFCUzyUvKu9/TtXPhnWTYqPX09T5NIlD7JeVUAAAAAAAAACQqbwuRHTY3' +
    'CVfQswGSM68OgEPfNXuDlL2wFkom+7KXhAfp1iasN7q9KQdYGrc+HVOJFL+MceUSo9i634yQX3T2gAGZYXE1jgTJgzWVbEirO4Hy2xM=';
  const formerName = () => join(ref.digest.slice(0, 2), `${ref.digest}.enc`);
  const openWith = (key: Buffer) =>
    openBlobStore({
      folder: root(),
      inline: store.inlineBlobs,
      runtime,
      log: memoryLog().log,
      encryptionKey: key,
    });
  beforeEach(async () => {
    await mkdir(join(root(), ref.digest.slice(0, 2)), { recursive: true });
    await writeFile(join(root(), formerName()), Buffer.from(FORMER, 'base64'));
  });

  it('is changed at the next start where it tells of the blob, which can be read as before', async () => {
    files = await openWith(Buffer.alloc(32, 'a key'));
    const [only = '', ...others] = await onDisk();
    expect([only, others]).toEqual([expect.stringMatching(/^(..).\1.{62}\.sealed$/), []]);
    expect(only).not.toContain(ref.digest);
    const found = await files.find(ref);
    expect(Buffer.concat((await found?.open().toArray()) as Buffer[]).equals(content)).toBe(true);
  });

  it('stays with a key that cannot read it, and the answer names the file', async () => {
    files = await openWith(Buffer.alloc(32, 'another key'));
    expect(await onDisk()).toEqual([formerName()]);
    await expect(files.find(ref)).rejects.toThrow(
      `${join(root(), formerName())} was encrypted with another key than storage.encryptionKey`,
    );
  });

  it('is another one with another key, which sweeps nothing of the first and says why it is not there', async () => {
    files = await openWith(Buffer.alloc(32, 'a key'));
    const [path = ''] = await onDisk();
    files = await openWith(Buffer.alloc(32, 'another key'));
    await expect(files.find(ref)).rejects.toThrow(`${join(root(), path)} was encrypted with another key`);
    runtime.skip(30 * 24 * HOUR_MS);
    await files.sweep(HOUR_MS);
    expect(await onDisk()).toEqual([path]);
    files = await openWith(Buffer.alloc(32, 'a key'));
    expect(await files.find(ref)).toBeDefined();
  });

  it('is swept by age when nothing names the blob and nobody holds it', async () => {
    await writeFile(join(root(), formerName()), '');
    const stored = await files.storeEncrypted(Readable.from([content]), 1000);
    const named = await files.storeEncrypted(Readable.from(['named']), 1000);
    await store.namedObjects.put(
      { area: 'INPUT', name: 'a', ...named, owner: null, storedAtMs: 0, expiresAtMs: 1 },
      { overwrite: false, quotaBytes: null, maxFiles: 10 },
    );
    const hold = files.hold();
    await files.find(stored, hold);
    runtime.skip(HOUR_MS + 10_000);
    expect(await files.sweep(HOUR_MS)).toBe(0);
    hold.release();
    expect(await files.sweep(HOUR_MS)).toBe(1);
    expect((await onDisk()).filter((name) => name.endsWith('.sealed'))).toHaveLength(1);
    expect(await files.find(named)).toBeDefined();
  });
});

describe('a clock that was ahead for a while', () => {
  it('keeps nothing for as long', async () => {
    runtime.skip(1000 * HOUR_MS);
    for (const content of [contentOf(100_000), contentOf(10)]) await files.put(content);
    runtime.skip(-1000 * HOUR_MS);
    await files.sweep(HOUR_MS);
    runtime.skip(HOUR_MS + 1);
    expect(await files.sweep(HOUR_MS)).toBe(2);
  });
});

describe('sweep', () => {
  const named = contentOf(100_000, 'named');
  const orphan = contentOf(100_000, 'orphan');
  const touched = contentOf(100_000, 'touched');
  const small = contentOf(10, 'small');

  it('removes what is old and named by no task', async () => {
    for (const content of [named, orphan, touched, small]) {
      await files.put(content);
    }
    await store.queue.insert([
      newTask({
        job: {
          type: 'EXECUTE_BATCH_JOB',
          model: null,
          scripts: [refOf(named)],
          additionalFiles: [],
          variables: [],
        },
      }),
    ]);
    runtime.skip(HOUR_MS);
    expect(await files.sweep(HOUR_MS)).toBe(0);
    await files.put(touched);
    runtime.skip(1);
    expect(await files.sweep(HOUR_MS)).toBe(2);
    const there: boolean[] = [];
    for (const content of [named, orphan, touched, small]) {
      there.push((await files.find(refOf(content).digest)) !== undefined);
    }
    expect(there).toEqual([true, false, true, false]);
  });

  it('leaves what somebody looked for lately: a task may be about to name it', async () => {
    await files.put(orphan);
    runtime.skip(2 * HOUR_MS);
    await files.find(refOf(orphan).digest);
    expect(await files.sweep(HOUR_MS)).toBe(0);
    runtime.skip(HOUR_MS + 1);
    expect(await files.sweep(HOUR_MS)).toBe(1);
  });

  it('leaves foreign files alone', async () => {
    await files.put(orphan);
    const { digest } = refOf(orphan);
    await writeFile(join(root(), 'README'), 'by an operator');
    await mkdir(join(root(), 'lost+found'));
    await writeFile(join(root(), digest.slice(0, 2), 'notes.txt'), 'by an operator');
    runtime.skip(2 * HOUR_MS);
    expect(await files.sweep(HOUR_MS)).toBe(1);
    expect((await onDisk()).sort()).toEqual(['README', join(digest.slice(0, 2), 'notes.txt')].sort());
  });
});

describe('open', () => {
  it('removes what a crash left half-written, and nothing else', async () => {
    const content = contentOf(100_000);
    await files.put(content);
    await writeFile(join(root(), 'incoming', 'half-written'), 'half');
    files = await open();
    expect(await onDisk()).toEqual([join(refOf(content).digest.slice(0, 2), refOf(content).digest)]);
    expect(await readFile(join(root(), (await onDisk())[0] as string))).toEqual(content);
  });
});
