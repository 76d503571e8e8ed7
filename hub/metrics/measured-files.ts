/** A blob store that counts the bytes stored and read. */
import type { Readable } from 'node:stream';
import type { BlobStore, FoundBlob } from '../core/ports/blobs.js';
import type { FileMetrics } from '../core/ports/metrics.js';

export function measuredFiles(files: BlobStore, metrics: FileMetrics): BlobStore {
  const counted = <Ref extends { readonly sizeBytes: number }>(ref: Ref): Ref => {
    metrics.stored(ref.sizeBytes);
    return ref;
  };
  const opened = (file: FoundBlob): FoundBlob => ({
    ...file,
    open: (range): Readable => {
      metrics.read(range ? Math.max(range.end - range.start, 0) : file.sizeBytes);
      return file.open(range);
    },
  });
  return {
    uploads: {
      freeBytes: () => files.uploads.freeBytes(),
      append: (upload, fromByte, pieces, onDurable) =>
        files.uploads.append(upload, fromByte, pieces, onDurable),
      toBlob: async (upload, hold, onDigest) => counted(await files.uploads.toBlob(upload, hold, onDigest)),
      remove: (id) => files.uploads.remove(id),
      ids: () => files.uploads.ids(),
    },
    hold: () => files.hold(),
    holdBriefly: (contents) => files.holdBriefly(contents),
    put: async (content, hold) => counted(await files.put(content, hold)),
    putUnlessEncrypted: async (content, hold) => counted(await files.putUnlessEncrypted(content, hold)),
    store: async (content, maxBytes, hold) => counted(await files.store(content, maxBytes, hold)),
    storeEncrypted: async (content, maxBytes, hold) =>
      counted(await files.storeEncrypted(content, maxBytes, hold)),
    receive: async (expected, content, fromByte, hold) => {
      await files.receive(expected, content, fromByte, hold);
      counted(expected);
    },
    receivedBytes: (digest) => files.receivedBytes(digest),
    find: async (content, hold) => {
      const file = await files.find(content, hold);
      return file && opened(file);
    },
    reclaim: () => files.reclaim(),
    sweep: (ageMs) => files.sweep(ageMs),
    sweepPartial: (ageMs) => files.sweepPartial(ageMs),
  };
}
