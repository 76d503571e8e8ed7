import type { FileRef } from '@workbench-hub/shared/domain/job';

/** Blobs from the hub, kept for later jobs up to a size limit. */
export interface BlobCache {
  /** True when the blob is complete in the cache. It then stays until {@link unpin} was called as often. */
  pin(file: FileRef): Promise<boolean>;
  unpin(digest: string): void;
  /** Rejects with the error of a full disk when there is no room for a blob, even if all unpinned files were removed. */
  expect(file: FileRef): Promise<void>;
  /** Size of the partial blob; 0 for none. */
  keptBytes(digest: string): Promise<number>;
  /** Stores a blob, of which `stream` holds the bytes from `fromByte` on: 0, or the size of the partial blob. Rejects with
   *  {@link BlobMismatch} when the digest differs; when the stream breaks, the bytes so far are kept. */
  put(file: FileRef, stream: AsyncIterable<Uint8Array>, fromByte: number): Promise<void>;
}

export class BlobMismatch extends Error {
  override readonly name = 'ContentMismatch';
}
