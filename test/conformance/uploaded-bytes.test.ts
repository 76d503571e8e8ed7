/** Bytes of unfinished uploads on the disk. */
import { randomBytes } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { UploadLost, type UploadRef } from '@workbench-hub/hub/core/ports/blobs';
import { type BlobFile, systemDisk } from '@workbench-hub/hub/files/blob-disk';
import { describe, expect, it } from 'vitest';
import {
  blobStoreForEachTest,
  diskWith,
  files,
  onDisk,
  read,
  refOf,
  reopen,
  root,
} from './blob-store-for-each-test.js';

blobStoreForEachTest();

const MIB = 1024 * 1024;
const LARGE = randomBytes(40 * MIB);

function uploadOf(content: Buffer, encrypt: boolean): UploadRef {
  return { id: 'upload-1', encrypt, sizeBytes: content.length };
}

async function* piecesOf(content: Buffer, pieceBytes = 100_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += pieceBytes) yield content.subarray(at, at + pieceBytes);
}

/** Appends the bytes; returns the offsets that became durable. */
async function append(upload: UploadRef, fromByte: number, content: Buffer): Promise<number[]> {
  const durable: number[] = [];
  await files.uploads.append(upload, fromByte, piecesOf(content), async (bytes) => {
    durable.push(bytes);
  });
  return durable;
}

const blobOf = async (upload: UploadRef) => files.uploads.toBlob(upload, files.hold(), async () => undefined);

describe.each([false, true])('an upload with encrypt = %s', (encrypt) => {
  it.each([0, 1, 32 * 1024, 32 * 1024 + 1, 200_000])('of %i bytes becomes a blob', async (bytes) => {
    const content = LARGE.subarray(0, bytes);
    const upload = uploadOf(content, encrypt);
    if (bytes > 0) expect(await append(upload, 0, content)).toEqual([bytes]);
    const digests: string[] = [];
    const ref = await files.uploads.toBlob(upload, files.hold(), async (digest) => void digests.push(digest));
    expect(ref).toEqual({ ...refOf(content), ...(encrypt ? { encrypted: true } : {}) });
    expect(digests).toEqual([ref.digest]);
    await files.uploads.remove(upload.id);
    expect((await read(ref))?.equals(content)).toBe(true);
    expect(await files.uploads.ids()).toEqual([]);
  });

  it('tells every 16 MiB that they are durable', async () => {
    const durable = await append(uploadOf(LARGE, encrypt), 0, LARGE);
    expect(durable).toHaveLength(3);
    expect(durable.at(-1)).toBe(LARGE.length);
    expect(durable[0]).toBeLessThan(17 * MIB);
  });

  it('continues at any durable place, with other content after it, also after a restart', async () => {
    const upload = uploadOf(LARGE, encrypt);
    await append(upload, 0, LARGE.subarray(0, 1000));
    await append(upload, 1000, LARGE.subarray(1000, 30 * MIB));
    await reopen();
    const [first = 0] = await append(upload, 30 * MIB, Buffer.alloc(5 * MIB));
    expect(first).toBe(35 * MIB);
    await append(upload, 30 * MIB, LARGE.subarray(30 * MIB));
    expect((await read(await blobOf(upload)))?.equals(LARGE)).toBe(true);
  });

  it('whose bytes are missing is lost', async () => {
    const upload = uploadOf(LARGE, encrypt);
    await append(upload, 0, LARGE.subarray(0, 100_000));
    await expect(append(upload, 100_001, LARGE.subarray(0, 1))).rejects.toThrow(UploadLost);
    await expect(blobOf(upload)).rejects.toThrow(UploadLost);
    await rm(join(root(), 'uploads', upload.id), { recursive: true });
    await expect(append(upload, 100_000, LARGE.subarray(0, 1))).rejects.toThrow(UploadLost);
    await expect(blobOf(upload)).rejects.toThrow(UploadLost);
  });

  it('keeps what is durable when the disk is full, and nothing else', async () => {
    let writable = Number.POSITIVE_INFINITY;
    await reopen({
      disk: diskWith((file) => ({
        writev: (pieces) => {
          writable -= pieces.reduce((sum, { length }) => sum + length, 0);
          if (writable < 0) throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
          return file.writev(pieces);
        },
      })),
    });
    const upload = uploadOf(LARGE, encrypt);
    await append(upload, 0, LARGE.subarray(0, 1000));
    writable = 20 * MIB;
    const durable: number[] = [];
    const appended = files.uploads.append(upload, 1000, piecesOf(LARGE.subarray(1000)), async (bytes) => {
      durable.push(bytes);
    });
    await expect(appended).rejects.toThrow('the disk of the hub is full');
    expect(durable).toHaveLength(1);
    writable = Number.POSITIVE_INFINITY;
    const [at = 0] = durable;
    await append(upload, at, LARGE.subarray(at));
    expect((await read(await blobOf(upload)))?.equals(LARGE)).toBe(true);
  });

  it('tells only what was synced', async () => {
    const unsynced = new Set<BlobFile>();
    const folders: string[] = [];
    const disk = diskWith((file) => {
      const sync = (synced: () => Promise<void>) => async () => {
        unsynced.delete(file);
        await synced();
      };
      return {
        writev: (pieces) => {
          unsynced.add(file);
          return file.writev(pieces);
        },
        write: (bytes, offset, length, position) => {
          unsynced.add(file);
          return file.write(bytes, offset, length, position);
        },
        datasync: sync(() => file.datasync()),
        sync: sync(() => file.sync()),
      };
    });
    const syncFolder = async (path: string) => {
      folders.push(path);
      await systemDisk.syncFolder(path);
    };
    await reopen({ disk: { ...disk, syncFolder } });
    folders.length = 0;
    const upload = uploadOf(LARGE, encrypt);
    let times = 0;
    await files.uploads.append(upload, 0, piecesOf(LARGE), async () => {
      times++;
      expect(unsynced.size).toBe(0);
      expect(folders).toContain(join(root(), 'uploads'));
      if (encrypt) expect(folders.filter((path) => path.endsWith(upload.id))).toHaveLength(times);
    });
    expect(times).toBe(3);
  });

  it('whose record cannot proceed keeps its earlier bytes', async () => {
    const upload = uploadOf(LARGE, encrypt);
    await append(upload, 0, LARGE.subarray(0, 1000));
    const refused = files.uploads.append(upload, 1000, piecesOf(LARGE.subarray(1000, 9000)), async () => {
      throw new Error('no such upload');
    });
    await expect(refused).rejects.toThrow('no such upload');
    await append(upload, 1000, LARGE.subarray(1000));
    expect((await read(await blobOf(upload)))?.equals(LARGE)).toBe(true);
  });

  it('whose digest is refused becomes no blob', async () => {
    const content = LARGE.subarray(0, 100_000);
    const upload = uploadOf(content, encrypt);
    await append(upload, 0, content);
    const hold = files.hold();
    const refused = files.uploads.toBlob(upload, hold, async () => {
      throw new Error('another digest');
    });
    await expect(refused).rejects.toThrow('another digest');
    hold.abandon();
    await files.reclaim();
    await files.uploads.remove(upload.id);
    expect(await onDisk()).toEqual([]);
  });
});

it('of an encrypted upload, segments that were exchanged are not taken', async () => {
  const [one, other] = [uploadOf(LARGE, true), { ...uploadOf(LARGE, true), id: 'upload-2' }];
  await append(one, 0, LARGE);
  await append(other, 0, LARGE);
  await rename(join(root(), 'uploads', 'upload-2', '0'), join(root(), 'uploads', 'upload-1', '0'));
  await expect(blobOf(one)).rejects.toThrow('holds another blob');
});

it('an id that leads out of the folder is none', async () => {
  await expect(files.uploads.remove('../files')).rejects.toThrow('is no id of an upload');
});
