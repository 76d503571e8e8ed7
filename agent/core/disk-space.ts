/** Free space of the disks on which jobs write, and whether a full disk explains a failed job. */
import { exactSizeInWords } from '@workbench-hub/shared/domain/size-in-words';

/** The free space of one file system. */
export interface DiskSpace {
  /** Purpose of the space, in words. */
  readonly use: string;
  /** Available to an ordinary user. */
  readonly freeBytes: number;
  readonly sizeBytes: number;
  /** Number of files that can still be created; null where they are not counted. */
  readonly freeFiles: number | null;
}

/** Space below which a disk counts as full: a failed write leaves less than the last piece that did not fit, seldom more than
 *  this, and on a small disk a part of it. */
const FULL_BELOW_BYTES = 16 * 1024 * 1024;
const FULL_BELOW_SHARE = 0.01;
const FULL_BELOW_FILES = 16;

/** Names the first disk that is full, in words; undefined when none is. */
export function fullness(spaces: readonly DiskSpace[]): string | undefined {
  for (const { use, freeBytes, sizeBytes, freeFiles } of spaces) {
    if (sizeBytes > 0 && freeBytes < Math.min(FULL_BELOW_BYTES, sizeBytes * FULL_BELOW_SHARE))
      return `${exactSizeInWords(freeBytes)} of ${exactSizeInWords(sizeBytes)} were free for ${use}`;
    if (freeFiles !== null && freeFiles < FULL_BELOW_FILES)
      return `no more files could be created for ${use}`;
  }
  return undefined;
}
