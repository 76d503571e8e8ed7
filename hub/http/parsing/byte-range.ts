/** The `Range` of a request (RFC 9110, 14). */
import type { ByteRange } from '../../core/ports/files.js';

/** One range in bytes; undefined for none, another unit, several, or what is none (14.2: it is passed over). */
export function rangeOf(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | 'UNSATISFIABLE' | undefined {
  const [found, from, to = '', lastBytes] = ONE_RANGE.exec(header ?? '') ?? [];
  if (found === undefined) return undefined;
  if (from !== undefined && to !== '' && Number(to) < Number(from)) return undefined;
  // More of the last bytes than there are is all of them (14.1.2).
  const start = from === undefined ? Math.max(sizeBytes - Number(lastBytes), 0) : Number(from);
  if (start >= sizeBytes) return 'UNSATISFIABLE';
  return { start, end: to === '' ? sizeBytes : Math.min(Number(to) + 1, sizeBytes) };
}

/** `bytes=5-9`, `bytes=5-`, `bytes=-5` */
const ONE_RANGE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/** What `Content-Range` says of a range: `bytes 5-9/20`. */
export function contentRange({ start, end }: ByteRange, sizeBytes: number): string {
  return `bytes ${start}-${end - 1}/${sizeBytes}`;
}
