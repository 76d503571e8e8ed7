/** How full the disks are on which jobs write, and when that is why a job failed. */
import { bytesInWords } from './outputs.js';

/** The free space of one file system. */
export interface DiskSpace {
  /** Who writes there, in words. */
  readonly use: string;
  /** For an ordinary user. */
  readonly freeBytes: number;
  readonly sizeBytes: number;
  /** How many more files it takes; null where they are not counted. */
  readonly freeFiles: number | null;
}

/** A script that fails to write leaves less than the last piece that did not fit: seldom more than this, and on a small disk a
 *  part of it. */
const FULL_BELOW_BYTES = 16 * 1024 * 1024;
const FULL_BELOW_SHARE = 0.01;
const FULL_BELOW_FILES = 16;

/** Which of them is full, in words; undefined when none is. */
export function fullness(spaces: readonly DiskSpace[]): string | undefined {
  for (const { use, freeBytes, sizeBytes, freeFiles } of spaces) {
    if (sizeBytes > 0 && freeBytes < Math.min(FULL_BELOW_BYTES, sizeBytes * FULL_BELOW_SHARE))
      return `${bytesInWords(freeBytes)} of ${bytesInWords(sizeBytes)} were free for ${use}`;
    if (freeFiles !== null && freeFiles < FULL_BELOW_FILES) return `no more files could be made for ${use}`;
  }
  return undefined;
}
