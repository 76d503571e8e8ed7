/** Reads a JSON body of any size: the contents of files in it go where the sink says while they come, everything else
 *  becomes a value. The verdict is that of JSON.parse, with bounds of {@link JsonTree}. */

import { none } from 'stream-chain/core';
import { jsonParser } from 'stream-json/core/parser.js';
import { invalidInput } from '../../core/errors.js';
import { JsonTree, type StringSink } from './json-tree.js';

/** So much is parsed in one go, so that nobody else waits for long. */
const SLICE_BYTES = 64 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `\u002b` */
const LONGEST_ESCAPE = 6;

/** `keepUp` is awaited again and again: while it is pending, no more of the body is read. */
export async function parseJsonBody(
  body: AsyncIterable<Buffer>,
  sink: StringSink,
  keepUp: () => Promise<void>,
): Promise<unknown> {
  const reader = new JsonReader(sink);
  for await (const piece of body) {
    for (let start = 0; start < piece.length; start += SLICE_BYTES) {
      reader.push(piece.subarray(start, start + SLICE_BYTES));
      await keepUp();
    }
  }
  return reader.end();
}

class JsonReader {
  readonly #sink: StringSink;
  readonly #tree: JsonTree;
  readonly #parse = jsonParser({
    packKeys: false,
    packStrings: false,
    packNumbers: false,
  });
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true });
  #readBytes = 0;
  /** Whether the parser is between two characters, not in the middle of an escape or of a character. */
  #betweenCharacters = true;

  constructor(sink: StringSink) {
    this.#sink = sink;
    this.#tree = new JsonTree(sink);
  }

  push(bytes: Buffer): void {
    const plain = this.#tree.isTaken && this.#betweenCharacters ? plainStart(bytes) : NOTHING_PLAIN;
    // Plain characters inside of a text change nothing in the parser: they need not go through it.
    if (plain.length > 0) this.#sink.push(plain.characters);
    if (plain.length < bytes.length) this.#parseBytes(bytes.subarray(plain.length));
    this.#readBytes += bytes.length;
  }

  end(): unknown {
    this.#parseText(() => this.#utf8.decode(), 'at the end');
    this.#parseText(() => none, 'at the end');
    return this.#tree.value;
  }

  #parseBytes(bytes: Buffer): void {
    const where = `in the ${SLICE_BYTES} bytes from ${this.#readBytes}`;
    this.#parseText(() => this.#utf8.decode(bytes, { stream: true }), where);
    const last = bytes.subarray(-LONGEST_ESCAPE);
    this.#betweenCharacters = !last.includes(BACKSLASH) && (last.at(-1) as number) < 0x80;
  }

  #parseText(textOf: () => string | typeof none, where: string): void {
    const parse = this.#parse;
    let parsed: ReturnType<typeof parse>;
    try {
      const text = textOf();
      parsed = text === '' ? none : parse(text as string);
    } catch (error) {
      throw invalidInput([{ where: 'body', what: `is not JSON: ${reasonOf(error)}, ${where}` }]);
    }
    if (parsed === none) return;
    this.#tree.takeAll(parsed.values);
  }
}

interface PlainStart {
  readonly characters: Buffer;
  /** How many bytes of the body they were. */
  readonly length: number;
}

const NOTHING_PLAIN: PlainStart = { characters: Buffer.alloc(0), length: 0 };

/** The characters that come before the next quote, or else before the next escape. Slashes with an escape, which some
 *  write (`\/`) and Base64 has many of, are plain too when nothing else is escaped. */
function plainStart(bytes: Buffer): PlainStart {
  const quote = bytes.indexOf(QUOTE);
  const start = quote < 0 ? bytes : bytes.subarray(0, quote);
  const backslash = start.indexOf(BACKSLASH);
  if (backslash < 0) return { characters: start, length: start.length };
  const withoutEscapes = start.toString('latin1').replaceAll('\\/', '/');
  if (!withoutEscapes.includes('\\')) {
    return { characters: Buffer.from(withoutEscapes, 'latin1'), length: start.length };
  }
  return { characters: start.subarray(0, backslash), length: backslash };
}

function reasonOf(error: unknown): string {
  return (error as Error).message
    .replace(/^Parser (cannot parse input: |has )/, '')
    .replace(/^escaped characters$/, 'bad escape or control character in a text');
}
