import { boundedText } from '../runtime/bounded-text.js';

const MAX_FAULT_LENGTH = 1000;

/** An invalid message of an instance program, which cannot be used any longer. Its message may quote the program, up to a limit. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';

  constructor(message: string, options?: ErrorOptions) {
    super(boundedText(message, MAX_FAULT_LENGTH), options);
  }
}

export interface LineSplitter {
  /** Takes a piece of the stream, which may be overwritten afterwards, and returns the lines that it completes, without line
   *  ends; empty lines are dropped. Throws {@link ProtocolViolation} when a line exceeds the limit. */
  push(chunk: Buffer): string[];
}

const LINE_FEED = 0x0a;
const NOTHING = Buffer.alloc(0);

/** The lines of a text of whole lines, without line ends and without empty ones. */
function linesOf(text: string): string[] {
  const lines: string[] = [];
  let start = 0;
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
    const line = text.slice(start, text[end - 1] === '\r' ? end - 1 : end);
    if (line !== '') lines.push(line);
    start = end + 1;
  }
  return lines;
}

/** Splits a byte stream into lines of UTF-8, each of at most `maxLineBytes`. */
export function lineSplitter(maxLineBytes: number): LineSplitter {
  /** Its first `heldBytes` are the beginning of an incomplete line. */
  let held = NOTHING;
  let heldBytes = 0;

  const hold = (bytes: Buffer): void => {
    const neededBytes = heldBytes + bytes.length;
    if (neededBytes > held.length) {
      const larger = Buffer.allocUnsafe(Math.max(neededBytes, 2 * held.length));
      held.copy(larger, 0, 0, heldBytes);
      held = larger;
    }
    bytes.copy(held, heldBytes);
    heldBytes = neededBytes;
  };

  /** Bytes before a line end; no character of UTF-8 spans one. */
  const textUpTo = (chunk: Buffer, endOfLines: number): string => {
    if (heldBytes === 0) return chunk.toString('utf8', 0, endOfLines);
    hold(chunk.subarray(0, endOfLines));
    const text = held.toString('utf8', 0, heldBytes);
    held = NOTHING;
    heldBytes = 0;
    return text;
  };

  return {
    push(chunk) {
      const endOfLines = chunk.lastIndexOf(LINE_FEED) + 1;
      const lines = endOfLines > 0 ? linesOf(textUpTo(chunk, endOfLines)) : [];
      if (endOfLines < chunk.length) hold(chunk.subarray(endOfLines));
      if (heldBytes > maxLineBytes) {
        throw new ProtocolViolation(`a line is longer than ${maxLineBytes} bytes`);
      }
      return lines;
    },
  };
}
