/** A file store that tells how much is stored and read. */
import type { Readable } from 'node:stream';
import type { FileStore, StoredFile } from '../core/ports/files.js';
import type { FileMetrics } from '../core/ports/metrics.js';

export function measuredFiles(files: FileStore, metrics: FileMetrics): FileStore {
  const counted = <Ref extends { readonly sizeBytes: number }>(ref: Ref): Ref => {
    metrics.stored(ref.sizeBytes);
    return ref;
  };
  const opened = (file: StoredFile): StoredFile => ({
    ...file,
    open: (range): Readable => {
      metrics.read(range ? Math.max(range.end - range.start, 0) : file.sizeBytes);
      return file.open(range);
    },
  });
  return {
    ...files,
    put: async (content) => counted(await files.put(content)),
    store: async (content, maxBytes) => counted(await files.store(content, maxBytes)),
    storeEncrypted: async (content, maxBytes) => counted(await files.storeEncrypted(content, maxBytes)),
    receive: async (expected, content, fromByte) => {
      await files.receive(expected, content, fromByte);
      counted(expected);
    },
    find: async (content) => {
      const file = await files.find(content);
      return file && opened(file);
    },
  };
}
