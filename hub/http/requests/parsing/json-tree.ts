/** Builder of a JSON value from tokens, with the result of JSON.parse, within bounds. */
import type { Token } from 'stream-json/core/parser.js';
import { HubError, invalidInput } from '../../../core/errors.js';

export type JsonPath = readonly (string | number)[];

/** Receiver of strings that do not become part of the value. */
export interface StringSink {
  /** Returns the replacement for the string at this path if the sink takes it. Not called for strings deeper than
   *  {@link MAX_TAKEN_DEPTH}. */
  begin(path: JsonPath): object | undefined;
  push(characters: Buffer): void;
  end(): void;
}

/** More than any request needs. */
const MAX_DEPTH = 1000;

/** Greatest depth of a file. Building the path of each string in a nest of a thousand lists would take seconds. */
const MAX_TAKEN_DEPTH = 8;

/** Approximate limit of the value's memory. */
const MAX_VALUE_BYTES = 16 * 1024 * 1024;

/** Memory of a value or a name in addition to its characters. */
const BYTES_OF_EACH = 32;

type Container = unknown[] | Record<string, unknown>;

interface Frame {
  readonly container: Container;
  /** Name of the next member. */
  key: string;
}

export class JsonTree {
  readonly #sink: StringSink;
  readonly #stack: Frame[] = [];
  /** Characters of the open string, number or name. */
  #text = '';
  #isTaken = false;
  #bytes = 0;
  #value: unknown;

  constructor(sink: StringSink) {
    this.#sink = sink;
  }

  /** Valid when all tokens have arrived. */
  get value(): unknown {
    return this.#value;
  }

  /** Whether the open string goes to the sink. */
  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Takes the tokens of one slice. */
  takeAll(tokens: readonly Token[]): void {
    for (const token of tokens) this.#take(token);
    if (this.#isTaken) this.#passOn();
  }

  #take(token: Token): void {
    switch (token.name) {
      case 'startObject':
        this.#open({});
        break;
      case 'startArray':
        this.#open([]);
        break;
      case 'endObject':
      case 'endArray':
        this.#stack.pop();
        break;
      case 'startKey':
      case 'startNumber':
        this.#begin();
        break;
      case 'startString':
        this.#beginString();
        break;
      case 'stringChunk':
      case 'numberChunk':
        this.#append(token.value);
        break;
      case 'endKey':
        (this.#stack.at(-1) as Frame).key = unshared(this.#text);
        break;
      case 'endString':
        this.#endString();
        break;
      case 'endNumber':
        this.#add(Number(this.#text));
        break;
      case 'trueValue':
      case 'falseValue':
      case 'nullValue':
        this.#count(BYTES_OF_EACH);
        this.#add(token.value);
        break;
      default:
        throw new Error(`unexpected token ${token.name}`);
    }
  }

  #beginString(): void {
    this.#begin();
    const instead = this.#stack.length > MAX_TAKEN_DEPTH ? undefined : this.#sink.begin(this.#path());
    this.#isTaken = instead !== undefined;
    if (instead) this.#add(instead);
  }

  #endString(): void {
    if (this.#isTaken) {
      this.#passOn();
      this.#sink.end();
    } else this.#add(unshared(this.#text));
    this.#isTaken = false;
  }

  /** Combined, since a string with escapes has many short tokens. */
  #passOn(): void {
    this.#sink.push(Buffer.from(this.#text));
    this.#text = '';
  }

  #append(text: string): void {
    if (!this.#isTaken) this.#count(text.length);
    this.#text += text;
  }

  #begin(): void {
    this.#count(BYTES_OF_EACH);
    this.#text = '';
  }

  #open(container: Container): void {
    this.#count(BYTES_OF_EACH);
    this.#add(container);
    this.#stack.push({ container, key: '' });
    if (this.#stack.length <= MAX_DEPTH) return;
    throw invalidInput([{ where: 'body', what: `must not be nested more than ${MAX_DEPTH} deep` }]);
  }

  #add(value: unknown): void {
    const frame = this.#stack.at(-1);
    if (!frame) this.#value = value;
    else if (Array.isArray(frame.container)) frame.container.push(value);
    else if (frame.key !== '__proto__') frame.container[frame.key] = value;
    else {
      const { container, key } = frame;
      Object.defineProperty(container, key, { value, enumerable: true, configurable: true, writable: true });
    }
  }

  #path(): JsonPath {
    const top = this.#stack.length - 1;
    return this.#stack.map(({ container, key }, at) => {
      if (!Array.isArray(container)) return key;
      // An open container is in its list already; the string itself is not.
      return at === top ? container.length : container.length - 1;
    });
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= MAX_VALUE_BYTES) return;
    throw new HubError(
      'BODY_TOO_LARGE',
      `beside the contents of files, names and values of the body may take at most ${MAX_VALUE_BYTES} bytes`,
    );
  }
}

/** Copy of a string: a slice would keep the whole string in memory. */
function unshared(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
