/** Contents of files on a real disk, with a real database for the small ones. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  ContentTooLarge,
  ContentUnderWay,
  DigestMismatch,
  type FileStore,
  WrongOffset,
} from '@workbench-hub/hub/core/ports/files';
import { MAX_SMALL_BYTES, openContentStore } from '@workbench-hub/hub/files/content-store';
import { openSqliteStore, type Store } from '@workbench-hub/hub/store/sqlite/store';
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
let store: Store;
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
const open = (): Promise<FileStore> => openContentStore(root(), store.smallFiles, runtime, KEY);
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

const SIZES = [0, 1, MAX_SMALL_BYTES, MAX_SMALL_BYTES + 1, 3 * 1024 * 1024 + 1];

async function read(digest: string): Promise<Buffer | undefined> {
  const file = await files.find(digest);
  return file && Buffer.concat(await file.open().toArray());
}

describe('a content', () => {
  it.each(SIZES)('of %d bytes can be put and read', async (bytes) => {
    const content = contentOf(bytes);
    const ref = refOf(content);
    expect(await files.put(content)).toEqual(ref);
    expect(await files.find(ref.digest)).toMatchObject({ sizeBytes: bytes });
    expect((await read(ref.digest))?.equals(content)).toBe(true);
    const large = bytes > MAX_SMALL_BYTES;
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
      await expect(files.store(Readable.from([content]), bytes - 1)).rejects.toBeInstanceOf(ContentTooLarge);
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

describe('a content that is not the one announced', () => {
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

describe('a content whose stream breaks', () => {
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
    const firstEnds = expect(first).rejects.toThrow('another connection goes on');
    await eventually(async () => (await files.receivedBytes(ref.digest)) === 1_100_000);
    runtime.skip(9_000);
    await expect(files.receive(ref, rest(0))).rejects.toThrow(ContentUnderWay);
    await expect(files.receive(ref, rest(1_100_000), 1_100_000)).rejects.toThrow(ContentUnderWay);
    runtime.skip(1_000);
    await files.receive(ref, rest(1_100_000), 1_100_000);
    await firstEnds;
    expect((await read(ref.digest))?.equals(content)).toBe(true);
  });

  it('is received from one of several who find that its sender has fallen silent', async () => {
    const silent = openEnded(content.subarray(0, 1_100_000));
    const first = files.receive(ref, silent);
    const firstEnds = expect(first).rejects.toThrow('another connection goes on');
    await eventually(async () => (await files.receivedBytes(ref.digest)) === 1_100_000);
    runtime.skip(10_000);
    const both = [1, 2].map(() => files.receive(ref, rest(1_100_000), 1_100_000));
    const [second, third] = await Promise.allSettled(both);
    await firstEnds;
    expect(second).toMatchObject({ status: 'fulfilled' });
    expect(third).toMatchObject({ status: 'rejected', reason: expect.any(ContentUnderWay) });
    expect((await read(ref.digest))?.equals(content)).toBe(true);
  });

  it('stays with a sender for whom the hub reads what is kept, however long that takes', async () => {
    await expect(files.receive(ref, broken(content.subarray(0, 1_100_000)))).rejects.toThrow('broke');
    const first = files.receive(ref, rest(1_100_000), 1_100_000);
    runtime.skip(60_000);
    await expect(files.receive(ref, rest(1_100_000), 1_100_000)).rejects.toThrow(ContentUnderWay);
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
