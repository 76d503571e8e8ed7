/** Transfers of blobs that are interrupted and resumed. */
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { TransferInProgress, WrongOffset } from '@workbench-hub/hub/core/ports/blobs';
import { systemDisk } from '@workbench-hub/hub/files/blob-disk';
import { PartialBlobs } from '@workbench-hub/hub/files/partial-blobs';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import {
  blobStoreForEachTest,
  broken,
  files,
  HOUR_MS,
  onDisk,
  read,
  refOf,
  reopen,
  runtime,
} from './blob-store-for-each-test.js';

blobStoreForEachTest();

/** A stream that emits these chunks, and stays open. */
function openEnded(...chunks: Buffer[]): Readable {
  const stream = new Readable({ read: () => undefined });
  for (const chunk of chunks) stream.push(chunk);
  return stream;
}

describe('an interrupted transfer', () => {
  const blob = Buffer.from(Array.from({ length: 3_000_000 }, (_, at) => at % 251));
  const ref = refOf(blob);
  const rest = (from: number) => Readable.from([blob.subarray(from)]);

  it.each([1, 300_000, 1_500_000, 2_999_999])('is resumed after %d bytes', async (bytes) => {
    await expect(files.receive(ref, broken(blob.subarray(0, bytes)))).rejects.toThrow('broke');
    expect(await files.find(ref.digest)).toBeUndefined();
    expect(await files.receivedBytes(ref.digest)).toBe(bytes);
    await files.receive(ref, rest(bytes), bytes);
    expect((await read(ref.digest))?.equals(blob)).toBe(true);
    expect(await files.receivedBytes(ref.digest)).toBe(0);
    expect(await onDisk()).toHaveLength(1);
  });

  it('that breaks again and again makes progress each time, also after a restart', async () => {
    for (let from = 0; from < 3_000_000; from += 500_000) {
      expect(await files.receivedBytes(ref.digest)).toBe(from);
      const piece = blob.subarray(from, from + 500_000);
      await expect(files.receive(ref, broken(piece), from)).rejects.toThrow('broke');
      await reopen();
    }
    await files.receive(ref, rest(0), 0);
    expect((await read(ref.digest))?.equals(blob)).toBe(true);
  });

  it('can begin anew, by a sender that does not ask for the offset', async () => {
    await expect(files.receive(ref, broken(blob.subarray(0, 1000)))).rejects.toThrow('broke');
    await files.receive(ref, rest(0));
    expect((await read(ref.digest))?.equals(blob)).toBe(true);
    expect(await onDisk()).toHaveLength(1);
  });

  it('is not resumed at another offset, and its partial blob stays', async () => {
    await expect(files.receive(ref, rest(10), 10)).rejects.toMatchObject({ receivedBytes: 0 });
    expect(await onDisk()).toEqual([]);
    await expect(files.receive(ref, broken(blob.subarray(0, 1000)))).rejects.toThrow('broke');
    for (const from of [999, 1001]) {
      const refusal = files.receive(ref, rest(from), from);
      await expect(refusal).rejects.toThrow(WrongOffset);
      await expect(refusal).rejects.toMatchObject({ receivedBytes: 1000 });
    }
    expect(await files.receivedBytes(ref.digest)).toBe(1000);
  });

  it('is resumed by another sender only after the first has fallen silent', async () => {
    const silent = openEnded(blob.subarray(0, 1_100_000));
    const first = files.receive(ref, silent);
    const firstEnds = expect(first).rejects.toThrow('another connection continues');
    await eventually(async () => (await files.receivedBytes(ref.digest)) === 1_100_000);
    runtime.skip(9_000);
    await expect(files.receive(ref, rest(0))).rejects.toThrow(TransferInProgress);
    await expect(files.receive(ref, rest(1_100_000), 1_100_000)).rejects.toThrow(TransferInProgress);
    runtime.skip(1_000);
    await files.receive(ref, rest(1_100_000), 1_100_000);
    await firstEnds;
    expect((await read(ref.digest))?.equals(blob)).toBe(true);
  });

  it('is resumed by one of several senders that come after the first has fallen silent', async () => {
    const silent = openEnded(blob.subarray(0, 1_100_000));
    const first = files.receive(ref, silent);
    const firstEnds = expect(first).rejects.toThrow('another connection continues');
    await eventually(async () => (await files.receivedBytes(ref.digest)) === 1_100_000);
    runtime.skip(10_000);
    const both = [1, 2].map(() => files.receive(ref, rest(1_100_000), 1_100_000));
    const [second, third] = await Promise.allSettled(both);
    await firstEnds;
    expect(second).toMatchObject({ status: 'fulfilled' });
    expect(third).toMatchObject({ status: 'rejected', reason: expect.any(TransferInProgress) });
    expect((await read(ref.digest))?.equals(blob)).toBe(true);
  });

  it('stays with its sender while the hub reads the partial blob, however long that takes', async () => {
    await expect(files.receive(ref, broken(blob.subarray(0, 1_100_000)))).rejects.toThrow('broke');
    const first = files.receive(ref, rest(1_100_000), 1_100_000);
    runtime.skip(60_000);
    await expect(files.receive(ref, rest(1_100_000), 1_100_000)).rejects.toThrow(TransferInProgress);
    await first;
    expect((await read(ref.digest))?.equals(blob)).toBe(true);
  });

  it('that is stored slowly is waited for by its sender, who sends nothing again', async () => {
    const folder = await temporaryFolder();
    const partial = await PartialBlobs.open(folder.path, systemDisk, runtime);
    const stored: string[] = [];
    let store: () => void = () => undefined;
    const slowly = (path: string) =>
      new Promise<void>((resolve) => {
        stored.push(path);
        store = () => {
          rmSync(path);
          resolve();
        };
      });
    const first = partial.receive(ref, rest(0), 0, slowly);
    await eventually(() => stored.length === 1);
    expect(await partial.sizeOf(ref.digest)).toBe(blob.length);
    await expect(partial.receive(ref, rest(blob.length), blob.length, slowly)).rejects.toThrow(
      TransferInProgress,
    );
    runtime.skip(60_000);
    const again = partial.receive(ref, rest(blob.length), blob.length, slowly);
    store();
    await Promise.all([first, again]);
    expect(stored).toHaveLength(1);
    await folder.remove();
  });

  it('that could not be stored is stored by the next try, which sends nothing', async () => {
    const folder = await temporaryFolder();
    const partial = await PartialBlobs.open(folder.path, systemDisk, runtime);
    const away = partial.receive(ref, rest(0), 0, () => Promise.reject(new Error('the place is away')));
    await expect(away).rejects.toThrow('the place is away');
    let kept: Buffer | undefined;
    await partial.receive(ref, rest(blob.length), blob.length, async (path) => {
      kept = await readFile(path);
    });
    expect(kept?.equals(blob)).toBe(true);
    await folder.remove();
  });

  it('is swept when nobody resumes it for a long time', async () => {
    await expect(files.receive(ref, broken(blob.subarray(0, 1000)))).rejects.toThrow('broke');
    runtime.skip(HOUR_MS);
    expect(await files.sweepPartial(HOUR_MS)).toBe(0);
    runtime.skip(1);
    expect(await files.sweepPartial(HOUR_MS)).toBe(1);
    expect(await onDisk()).toEqual([]);
  });
});
