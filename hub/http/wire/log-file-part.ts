/** Parts of a log in a file. */
import type { LogPartQuery } from '../../core/log-parts.js';
import type { ByteRange } from '../../core/ports/blobs.js';

/** Opens bytes of the file. */
export type OpenBytes = (range: ByteRange) => AsyncIterable<Uint8Array>;

const LINE_END = 0x0a;
const BLOCK_BYTES = 64 * 1024;

/** Last bytes in which lines are looked for: a file without line ends is not read as a whole. */
const MAX_TAIL_BYTES = 16 * 1024 * 1024;

/** Byte at which the last lines begin; 0 for an empty file. */
export async function startOfLastLines(open: OpenBytes, sizeBytes: number, lines: number): Promise<number> {
  const earliest = Math.max(sizeBytes - MAX_TAIL_BYTES, 0);
  let left = lines;
  // The last byte of a file is the end of the last line, or within it.
  for (let end = sizeBytes - 1; end > earliest; ) {
    const start = Math.max(end - BLOCK_BYTES, earliest);
    const block = await read(open, { start, end });
    for (let at = block.lastIndexOf(LINE_END); at >= 0; at = before(block, at)) {
      left -= 1;
      if (left === 0) return start + at + 1;
    }
    end = start;
  }
  return earliest;
}

/** Byte at which a UTF-8 file reaches a position in UTF-16 units; undefined when it is shorter. */
export async function byteOfUnit(
  open: OpenBytes,
  sizeBytes: number,
  unit: number,
): Promise<number | undefined> {
  let units = 0;
  let bytes = 0;
  for await (const chunk of open({ start: 0, end: sizeBytes })) {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      const isContinuation = (byte & 0xc0) === 0x80;
      if (isContinuation) continue;
      if (units >= unit) return bytes + at;
      units += byte >= FIRST_OF_FOUR_BYTES ? 2 : 1;
    }
    bytes += chunk.length;
  }
  return units < unit ? undefined : bytes;
}

const FIRST_OF_FOUR_BYTES = 0xf0;

/** Byte at which the requested part of a finished log begins, whose offsets count UTF-16 units. */
export async function startOfPart(
  open: OpenBytes,
  sizeBytes: number,
  { tail, offset }: LogPartQuery,
): Promise<number> {
  if (sizeBytes === 0) return 0;
  if (tail !== undefined) return startOfLastLines(open, sizeBytes, tail);
  return offset === undefined ? 0 : ((await byteOfUnit(open, sizeBytes, offset)) ?? 0);
}

function before(block: Buffer, at: number): number {
  return at === 0 ? -1 : block.lastIndexOf(LINE_END, at - 1);
}

async function read(open: OpenBytes, range: ByteRange): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of open(range)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
