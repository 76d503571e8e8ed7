import { StringDecoder } from 'node:string_decoder';

/** What came is no message of the protocol; the process that sent it cannot be worked with any longer. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';
}

export interface LineSplitter {
  /** Takes a piece of the stream and gives the lines that it completes, without their ends; empty lines are dropped.
   *  Throws {@link ProtocolViolation} when a line grows beyond the limit. */
  push(chunk: Buffer): string[];
}

/** Cuts a byte stream into lines of at most `maxLineBytes` (counted in UTF-16 units, which bounds memory as well). */
export function lineSplitter(maxLineBytes: number): LineSplitter {
  const decoder = new StringDecoder('utf8');
  let parts: string[] = [];
  let heldLength = 0;

  return {
    push(chunk) {
      const text = decoder.write(chunk);
      const lines: string[] = [];
      let start = 0;
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
        parts.push(text.slice(start, end));
        const line = parts.length === 1 ? (parts[0] as string) : parts.join('');
        parts = [];
        heldLength = 0;
        start = end + 1;
        const trimmed = line.endsWith('\r') ? line.slice(0, -1) : line;
        if (trimmed !== '') lines.push(trimmed);
      }
      if (start < text.length) {
        parts.push(text.slice(start));
        heldLength += text.length - start;
      }
      if (heldLength > maxLineBytes) {
        throw new ProtocolViolation(`a line is longer than ${maxLineBytes} bytes`);
      }
      return lines;
    },
  };
}
