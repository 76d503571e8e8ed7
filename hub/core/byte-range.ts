/** `Range` header of a request (RFC 9110, 14). */
import type { ByteRange } from './ports/files.js';

/** The single range in bytes; undefined for none, another unit, several or an invalid one (14.2: ignored). */
export function rangeOf(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | 'UNSATISFIABLE' | undefined {
  const [found, from, to = '', lastBytes] = ONE_RANGE.exec(header ?? '') ?? [];
  if (found === undefined) return undefined;
  if (from !== undefined && to !== '' && Number(to) < Number(from)) return undefined;
  // A suffix longer than the file selects all of it (14.1.2).
  const start = from === undefined ? Math.max(sizeBytes - Number(lastBytes), 0) : Number(from);
  if (start >= sizeBytes) return 'UNSATISFIABLE';
  return { start, end: to === '' ? sizeBytes : Math.min(Number(to) + 1, sizeBytes) };
}

/** `bytes=5-9`, `bytes=5-`, `bytes=-5` */
const ONE_RANGE = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i;

/** `Content-Range` of a range: `bytes 5-9/20`. */
export function contentRange({ start, end }: ByteRange, sizeBytes: number): string {
  return `bytes ${start}-${end - 1}/${sizeBytes}`;
}
