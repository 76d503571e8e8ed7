/** Reads the lines of a file from its end to its beginning, a piece at a time. */
import type { FileHandle } from 'node:fs/promises';

export interface LineAt {
  /** Where the line begins in the file. */
  readonly offset: number;
  readonly text: string;
}

const PIECE_BYTES = 64 * 1024;

/** A longer line is no line of ours, and passed over. */
const MAX_LINE_BYTES = 256 * 1024;

const NEW_LINE = 0x0a;

/** The lines that end before `endOffset`, last first. Gives those of one piece at a time, so that whoever goes through them
 *  returns to the event loop between pieces. */
export async function* readLinesBackwards(handle: FileHandle, endOffset: number): AsyncGenerator<LineAt[]> {
  /** What has been read of the line that reaches into the next piece; null while one too long is passed over. */
  let rest: Buffer | null = Buffer.alloc(0);
  for (let end = endOffset; end > 0; ) {
    const start = Math.max(end - PIECE_BYTES, 0);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
    const piece = buffer.subarray(0, bytesRead);
    const lines: LineAt[] = [];
    let lineEnd = piece.length;
    for (
      let at = piece.lastIndexOf(NEW_LINE);
      at >= 0;
      at = at === 0 ? -1 : piece.lastIndexOf(NEW_LINE, at - 1)
    ) {
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

function lineOf(offset: number, beginning: Buffer, rest: Buffer): LineAt {
  const bytes = rest.length === 0 ? beginning : Buffer.concat([beginning, rest]);
  return { offset, text: bytes.toString() };
}
