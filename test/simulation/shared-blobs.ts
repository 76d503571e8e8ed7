/** The folder with the blobs of all simulated hubs, beside the disk of each. */
import type { BlobDisk } from '@workbench-hub/hub/files/blob-disk';
import { FolderPlace } from '@workbench-hub/hub/files/folder-place';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';

const FOLDER = '/shared';

export interface Disks {
  readonly own: BlobDisk;
  readonly shared: BlobDisk;
}

/** The place of blobs in the shared folder, with a disk that has both. */
export async function sharedPlace(disks: Disks, runtime: Runtime, encryptionKey: Buffer) {
  const disk = diskOf(disks);
  const place = await FolderPlace.open(
    { folder: FOLDER, disk, runtime, copiesIn: `${FOLDER}/incoming` },
    encryptionKey,
  );
  return { disk, place };
}

function diskOf({ own, shared }: Disks): BlobDisk {
  const of = (path: string) => (path.startsWith(FOLDER) ? shared : own);
  return {
    makeFolder: (path) => of(path).makeFolder(path),
    list: (path) => of(path).list(path),
    open: (path, ...rest) => of(path).open(path, ...rest),
    stat: (path) => of(path).stat(path),
    utimes: (path, ...rest) => of(path).utimes(path, ...rest),
    rename: (from, to) => of(from).rename(from, to),
    remove: (path) => of(path).remove(path),
    syncFolder: (path) => of(path).syncFolder(path),
    read: (path, ...rest) => of(path).read(path, ...rest),
    freeBytes: (path) => of(path).freeBytes(path),
  };
}
