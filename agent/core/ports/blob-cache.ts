import type { FileRef } from '@workbench-hub/shared/domain/job';

/** Contents that came from the hub, kept for later jobs within a limit of size. */
export interface BlobCache {
  /** True when the content is there, whole. It then stays until {@link unpin} was called as often. */
  pin(file: FileRef): Promise<boolean>;
  unpin(digest: string): void;
  /** Rejects as a disk does that is full when there is no room for a content, whatever were removed that is not in use. */
  expect(file: FileRef): Promise<void>;
  /** How many bytes are kept of a content that was not taken in whole. */
  keptBytes(digest: string): Promise<number>;
  /** Takes in a content, of which `content` holds the bytes from `fromByte` on: 0, or what is kept. Rejects with
   *  {@link BlobMismatch} when it is another than its digest says; when the stream breaks, what came before is kept. */
  put(file: FileRef, content: AsyncIterable<Uint8Array>, fromByte: number): Promise<void>;
}

export class BlobMismatch extends Error {
  override readonly name = 'ContentMismatch';
}
