/** Reader of a file's lines from end to start, chunk by chunk. */
import type { FileHandle } from 'node:fs/promises';

export interface LineAt {
  /** Offset of the line. */
  readonly offset: number;
  readonly text: string;
}

const PIECE_BYTES = 64 * 1024;

/** Longer lines are not entries and are skipped. */
const MAX_LINE_BYTES = 256 * 1024;

const NEW_LINE = 0x0a;

/** Lines that end before `endOffset`, last first, one chunk at a time, between which callers return to the event loop. */
export async function* readLinesBackwards(handle: FileHandle, endOffset: number): AsyncGenerator<LineAt[]> {
  /** The part of a line that continues in the next chunk; null while a too long one is skipped. */
  let rest: Buffer | null = Buffer.alloc(0);
  for (let end = endOffset; end > 0; ) {
    const start = Math.max(end - PIECE_BYTES, 0);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
    const piece = buffer.subarray(0, bytesRead);
    const lines: LineAt[] = [];
    let lineEnd = piece.length;
    for (let at = newLineBefore(piece, piece.length); at >= 0; at = newLineBefore(piece, at)) {
      if (rest !== null) lines.push(lineOf(start + at + 1, piece.subarray(at + 1, lineEnd), rest));
      rest = Buffer.alloc(0);
      lineEnd = at;
    }
    if (rest !== null) rest = Buffer.concat([piece.subarray(0, lineEnd), rest]);
    if (rest !== null && rest.length > MAX_LINE_BYTES) rest = null;
    if (start === 0 && rest !== null) lines.push(lineOf(0, rest, Buffer.alloc(0)));
    yield lines.filter(({ text }) => text !== '');
    end = start;
  }
}

/** Index of the last new line before `end`; -1 for none. */
function newLineBefore(piece: Buffer, end: number): number {
  return end === 0 ? -1 : piece.lastIndexOf(NEW_LINE, end - 1);
}

function lineOf(offset: number, beginning: Buffer, rest: Buffer): LineAt {
  const bytes = rest.length === 0 ? beginning : Buffer.concat([beginning, rest]);
  return { offset, text: bytes.toString() };
}
