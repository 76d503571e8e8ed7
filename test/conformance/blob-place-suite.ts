/** Places of blobs. */
import { createHash } from 'node:crypto';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobPlace } from '@workbench-hub/hub/files/blob-place';
import { isThere } from '@workbench-hub/shared/runtime/is-there';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

export interface PlaceUnderTest {
  readonly place: BlobPlace;
  readonly runtime: HandDrivenRuntime;
  /** Another hub's view of the same place. */
  other(): Promise<BlobPlace>;
  /** Number of files in the place, with and without a name. */
  files(): Promise<number>;
  close(): Promise<void>;
}

const HOUR_MS = 3_600_000;
const atOnce = <T>(step: () => Promise<T>) => step();

export function describeBlobPlace(open: () => Promise<PlaceUnderTest>): void {
  let under: PlaceUnderTest;
  let place: BlobPlace;
  let folder: TemporaryFolder;
  beforeEach(async () => {
    folder = await temporaryFolder();
    under = await open();
    place = under.place;
  });
  afterEach(async () => {
    await under.close();
    await folder.remove();
  });

  /** Content that differs at each position. */
  const contentOf = (bytes: number) =>
    Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 7 + (at >> 8)) % 251));
  const nameOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');
  const fileOf = async (content: Buffer): Promise<string> => {
    const path = join(folder.path, under.runtime.newId());
    await writeFile(path, content);
    await utimes(path, nowMs() / 1000, nowMs() / 1000);
    return path;
  };
  const put = async (content: Buffer, into = place): Promise<string> => {
    const name = nameOf(content);
    await into.put(name, await fileOf(content), atOnce);
    return name;
  };
  const read = async (name: string, start?: number, end?: number, from = place) => {
    const found = await from.find(name);
    return found && Buffer.concat(await found.read(start ?? 0, end ?? found.sizeBytes).toArray());
  };
  const namesOf = async (beforeMs: number) => {
    const names: string[] = [];
    for await (const batch of place.names(beforeMs)) names.push(...batch);
    return names.sort();
  };
  const nowMs = () => under.runtime.clock.nowMs();

  describe('a file', () => {
    // Small ones go to an object store in one request, the largest in several.
    it.each([1, 40_000, 20 * 1024 * 1024])(
      'of %d bytes is read as it was put, from any hub',
      async (bytes) => {
        const content = contentOf(bytes);
        const name = await put(content);
        expect((await read(name))?.equals(content)).toBe(true);
        expect((await read(name, 0, bytes, await under.other()))?.equals(content)).toBe(true);
        expect(await place.find(name)).toMatchObject({ sizeBytes: bytes });
      },
    );

    it('is gone from the local disk when it is in the place', async () => {
      const content = contentOf(50_000);
      const path = await fileOf(content);
      await place.put(nameOf(content), path, atOnce);
      expect(await isThere(path)).toBe(false);
    });

    it('is read in part', async () => {
      const content = contentOf(300_000);
      const name = await put(content);
      for (const [start, end] of [
        [0, 1],
        [299_999, 300_000],
        [1000, 200_001],
      ] as const)
        expect((await read(name, start, end))?.equals(content.subarray(start, end))).toBe(true);
    });

    it('is read in blocks of the size that is asked for', async () => {
      const content = contentOf(300_000);
      const file = await place.open(await put(content));
      const blocks: Buffer[] = [];
      for await (const block of file?.blocks(10, 250_000, 70_000) ?? []) blocks.push(Buffer.from(block));
      expect(blocks.map(({ length }) => length)).toEqual([70_000, 70_000, 70_000, 39_990]);
      expect(Buffer.concat(blocks).equals(content.subarray(10, 250_000))).toBe(true);
      expect(file?.sizeBytes).toBe(300_000);
      await file?.close();
    });

    it('that does not exist is not found, renewed, opened or old, and may be removed', async () => {
      const name = nameOf(contentOf(1));
      expect(await place.find(name)).toBeUndefined();
      expect(await place.open(name)).toBeUndefined();
      expect(await place.renew(name)).toBe(false);
      expect(await place.isOld(name, Number.MAX_SAFE_INTEGER)).toBe(false);
      await place.remove([name]);
    });

    it('exists under its name only when the step in turn has ended', async () => {
      const content = contentOf(50_000);
      const name = nameOf(content);
      let before: unknown = 'not called';
      await place.put(name, await fileOf(content), async (step) => {
        before = await place.find(name);
        return step();
      });
      expect(before).toBeUndefined();
      expect(await place.find(name)).toBeDefined();
    });

    it('stays on the local disk, and nothing in the place, when it gets no name', async () => {
      const content = contentOf(50_000);
      const path = await fileOf(content);
      const failed = place.put(nameOf(content), path, () => Promise.reject(new Error('no turn')));
      await expect(failed).rejects.toThrow('no turn');
      expect(await isThere(path)).toBe(true);
      expect(await place.find(nameOf(content))).toBeUndefined();
      await place.put(nameOf(content), path, atOnce);
      expect((await read(nameOf(content)))?.equals(content)).toBe(true);
    });

    it('that several hubs put at the same time is there once', async () => {
      const content = contentOf(50_000);
      const other = await under.other();
      await Promise.all([put(content), put(content, other), put(content), put(content, other)]);
      await put(content, other);
      expect(await under.files()).toBe(1);
      expect((await read(nameOf(content)))?.equals(content)).toBe(true);
    });

    it('is removed with its bytes, for every hub, and can be put again', async () => {
      const content = contentOf(50_000);
      const kept = contentOf(40_000);
      const [name, other] = [await put(content), await under.other()];
      await put(kept);
      await other.remove([name, nameOf(contentOf(3))]);
      expect(await place.find(name)).toBeUndefined();
      expect(await under.files()).toBe(1);
      await put(content);
      expect((await read(name))?.equals(content)).toBe(true);
      expect((await read(nameOf(kept)))?.equals(kept)).toBe(true);
    });
  });

  describe('a removal of an unused file', () => {
    const content = contentOf(50_000);
    const usedAtMs = async (name: string) => (await place.usedAtMs(name)) as number;

    it('removes it, if it is there', async () => {
      const name = await put(content);
      await place.remove([{ name, usedAtMs: await usedAtMs(name) }]);
      expect(await place.usedAtMs(name)).toBeUndefined();
      await place.remove([{ name, usedAtMs: 1 }]);
      expect(await under.files()).toBe(0);
    });

    it.each([
      ['put', (other: BlobPlace) => put(content, other)],
      ['found', (other: BlobPlace) => other.find(nameOf(content))],
      ['renewed', (other: BlobPlace) => other.renew(nameOf(content))],
    ])('leaves one that another hub has %s since, be it in the same moment', async (_, use) => {
      const name = await put(content);
      const other = await under.other();
      await other.renew(name);
      const seenAtMs = await usedAtMs(name);
      other.forgetUses([name]);
      await use(other);
      expect(await usedAtMs(name)).not.toBe(seenAtMs);
      await place.remove([{ name, usedAtMs: seenAtMs }]);
      expect((await read(name))?.equals(content)).toBe(true);
      await place.remove([{ name, usedAtMs: await usedAtMs(name) }]);
      expect(await place.find(name)).toBeUndefined();
    });
  });

  describe('the age', () => {
    it('counts from the last time that a file was put, found or renewed', async () => {
      const [put1, found, renewed, putAgain] = await Promise.all(
        [1, 2, 3, 4].map((at) => put(contentOf(40_000 + at))),
      );
      under.runtime.skip(HOUR_MS);
      await place.find(found as string);
      await place.renew(renewed as string);
      await put(contentOf(40_004));
      const beforeMs = nowMs() - HOUR_MS / 2;
      const isOld = (name: string | undefined) => place.isOld(name as string, beforeMs);
      expect(await Promise.all([put1, found, renewed, putAgain].map(isOld))).toEqual([
        true,
        false,
        false,
        false,
      ]);
      expect(await namesOf(beforeMs)).toContain(put1);
    });

    it('counts from now for a file from a clock that was ahead', async () => {
      const name = await put(contentOf(40_000));
      under.runtime.skip(-24 * HOUR_MS);
      expect(await namesOf(nowMs())).toEqual([name]);
      expect(await place.isOld(name, nowMs())).toBe(false);
      under.runtime.skip(HOUR_MS);
      expect(await place.isOld(name, nowMs() - HOUR_MS / 2)).toBe(true);
    });

    it('is told of every file, however many there are', async () => {
      const names: string[] = [];
      for (let at = 0; at < 1100; at += 50)
        names.push(
          ...(await Promise.all(Array.from({ length: 50 }, (_, more) => put(Buffer.from(`${at + more}`))))),
        );
      under.runtime.skip(HOUR_MS);
      expect(await namesOf(nowMs())).toEqual(names.sort());
    });
  });
}
