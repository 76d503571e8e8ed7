import type { FileRef } from '@workbench-hub/shared/domain/job';

/** Contents that came from the hub, kept for later jobs within a limit of size. */
export interface ContentCache {
  /** True when the content is there, whole. It then stays until {@link unpin} was called as often. */
  pin(file: FileRef): Promise<boolean>;
  unpin(digest: string): void;
  /** Takes a content in; rejects with {@link ContentMismatch} when it is another than its digest says. */
  put(file: FileRef, content: AsyncIterable<Uint8Array>): Promise<void>;
}

export class ContentMismatch extends Error {
  override readonly name = 'ContentMismatch';
}
