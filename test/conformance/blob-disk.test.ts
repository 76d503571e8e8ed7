/** Blobs on disks: the order of writes, and full disks. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { BlobStore } from '@workbench-hub/hub/core/ports/blobs';
import { type BlobDisk, systemDisk } from '@workbench-hub/hub/files/blob-disk';
import { FolderPlace } from '@workbench-hub/hub/files/folder-place';
import { describe, expect, it } from 'vitest';
import {
  blobOf,
  blobStoreForEachTest,
  broken,
  diskWith,
  files,
  onDisk,
  refOf,
  reopen,
  root,
  runtime,
} from './blob-store-for-each-test.js';

blobStoreForEachTest();

const blob = blobOf(100_000);

it('a file that is put into the folder in which it is already stays there', async () => {
  const folder = `${root()}/place`;
  const options = { folder, disk: systemDisk, runtime, copiesIn: `${folder}/incoming` };
  const place = await FolderPlace.open(options, Buffer.alloc(32));
  const path = `${root()}/file`;
  await writeFile(path, blob);
  const name = createHash('sha256').update(blob).digest('hex');
  await place.put(name, path, (step) => step());
  await place.renew(name);
  await runtime.advance(1000);
  await place.put(name, place.pathOf(name), (step) => step());
  expect(await place.find(name)).toMatchObject({ sizeBytes: blob.length });
});

describe('the order of writes', () => {
  /** A disk that records the steps whose order matters. */
  function recordingDisk(): { readonly disk: BlobDisk; readonly steps: string[] } {
    const steps: string[] = [];
    const nameOf = (path: string) => path.slice(root().length + 1).replace(/\/.*/, '/…');
    const folderOf = (path: string) => nameOf(path).replace(/^[0-9a-f]{2}$/, '…') || 'files';
    const recordingFiles = diskWith((file) => ({
      writev: (pieces) => {
        steps.push('write');
        return file.writev(pieces);
      },
      write: (...data) => {
        steps.push('write');
        return file.write(...data);
      },
      sync: () => {
        steps.push('sync');
        return file.sync();
      },
    }));
    const disk: BlobDisk = {
      ...recordingFiles,
      rename: (from, to) => {
        steps.push(`rename to ${nameOf(to).replace(/^../, 'xx')}`);
        return systemDisk.rename(from, to);
      },
      syncFolder: (path) => {
        steps.push(`sync ${folderOf(path)}`);
        return systemDisk.syncFolder(path);
      },
    };
    return { disk, steps };
  }

  it.each<[string, (files: BlobStore) => Promise<unknown>]>([
    ['put', (files) => files.put(blob)],
    ['stored', (files) => files.store(Readable.from([blob]), 1e6)],
    ['stored encrypted', (files) => files.storeEncrypted(Readable.from([blob]), 1e6)],
    ['received', (files) => files.receive(refOf(blob), Readable.from([blob]))],
  ])('is content, name, answer for a blob that is %s', async (_, keep) => {
    const { disk, steps } = recordingDisk();
    await reopen({ disk });
    steps.splice(0);
    await keep(files);
    const distinct = steps.filter((step, at) => step !== steps[at - 1]);
    expect(distinct).toEqual(['write', 'sync', 'rename to xx/…', 'sync …', 'sync files']);
  });

  it('begins at a start with the names that a killed hub may have left unsynced', async () => {
    await files.put(blob);
    const { disk, steps } = recordingDisk();
    await reopen({ disk });
    expect(steps.slice(0, 2)).toEqual(['sync …', 'sync files']);
  });
});

describe('a full disk', () => {
  it('keeps nothing of a blob that did not fit', async () => {
    const disk = diskWith((file) => {
      let writes = 0;
      return {
        writev: (pieces) => {
          if (++writes === 1) return file.writev(pieces);
          return Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' }));
        },
      };
    });
    await reopen({ disk });
    const large = blobOf(5_000_000);
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

  it('gets room from partial blobs, the oldest first', async () => {
    const old = [blobOf(100_001), blobOf(100_002), blobOf(100_003)];
    for (const each of old) {
      await expect(files.receive(refOf(each), broken(each.subarray(0, 50_000)))).rejects.toThrow('broke');
      runtime.skip(1000);
    }
    const disk: BlobDisk = {
      ...systemDisk,
      freeBytes: async () =>
        220_000 - 50_000 * (await onDisk()).filter((name) => name.endsWith('.partial')).length,
    };
    await reopen({ disk });
    await files.receive(refOf(blob), Readable.from([blob]));
    const kept = await Promise.all(old.map((each) => files.receivedBytes(refOf(each).digest)));
    expect(kept).toEqual([0, 0, 50_000]);
    await expect(files.receive(refOf(blobOf(200_000)), Readable.from([]))).rejects.toMatchObject({
      code: 'STORAGE_FULL',
    });
  });
});
