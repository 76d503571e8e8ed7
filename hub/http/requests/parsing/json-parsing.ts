/** Streaming parser for JSON bodies of any size: the contents of files go to a sink as they arrive, everything else becomes a
 *  value. It accepts what JSON.parse does, within the bounds of {@link JsonTree}. */

import { none } from 'stream-chain/core';
import { jsonParser } from 'stream-json/core/parser.js';
import { invalidInput } from '../../../core/errors.js';
import { JsonTree, type StringSink } from './json-tree.js';

/** Bytes parsed in one step, so that other requests do not wait long. */
const SLICE_BYTES = 64 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `\u002b` */
const LONGEST_ESCAPE = 6;

/** `keepUp` is awaited after each slice: while it is pending, no more of the body is read. */
export async function parseJsonBody(
  body: AsyncIterable<Buffer>,
  sink: StringSink,
  keepUp: () => Promise<void>,
): Promise<unknown> {
  const reader = new JsonReader(sink);
  for await (const chunk of body) {
    for (let start = 0; start < chunk.length; start += SLICE_BYTES) {
      reader.push(chunk.subarray(start, start + SLICE_BYTES));
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
  /** Whether the parser is neither within an escape nor within a character. */
  #betweenCharacters = true;

  constructor(sink: StringSink) {
    this.#sink = sink;
    this.#tree = new JsonTree(sink);
  }

  push(bytes: Buffer): void {
    const plain = this.#tree.isTaken && this.#betweenCharacters ? plainStart(bytes) : NOTHING_PLAIN;
    // Plain characters within a string do not change the state of the parser, so they bypass it.
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
  /** Bytes of the body that they came from. */
  readonly length: number;
}

const NOTHING_PLAIN: PlainStart = { characters: Buffer.alloc(0), length: 0 };

/** Characters before the next quote or escape. Escaped slashes (`\/`), which some encoders write and Base64 has many of, are
 *  plain too when nothing else is escaped. */
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
