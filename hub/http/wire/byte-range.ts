/** The `Range` of a request (RFC 9110 section 14). The package range-parser is unsuitable: it finds `bytes=-99` of ten bytes
 *  unsatisfiable, which is all of them, and `bytes=5-4`, which is to be ignored. */
import type { ByteRange } from '../../core/ports/blobs.js';

/** One range in bytes; undefined for none, another unit, several ranges, or a malformed one, all of which are ignored (14.2). */
export function rangeOf(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | 'UNSATISFIABLE' | undefined {
  const [found, from, to = '', lastBytes] = ONE_RANGE.exec(header ?? '') ?? [];
  if (found === undefined) return undefined;
  if (from !== undefined && to !== '' && Number(to) < Number(from)) return undefined;
  // A suffix longer than the content is all of it (14.1.2).
  const start = from === undefined ? Math.max(sizeBytes - Number(lastBytes), 0) : Number(from);
  if (start >= sizeBytes) return 'UNSATISFIABLE';
  return { start, end: to === '' ? sizeBytes : Math.min(Number(to) + 1, sizeBytes) };
}

/** `bytes=5-9`, `bytes=5-`, `bytes=-5` */
const ONE_RANGE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/** Value of `Content-Range`: `bytes 5-9/20`. */
export function contentRange({ start, end }: ByteRange, sizeBytes: number): string {
  return `bytes ${start}-${end - 1}/${sizeBytes}`;
}
