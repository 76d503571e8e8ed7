/** Reads the JSON body of a request: a small one at once, a large one with contents of files as it comes. */
import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { pathText } from '@workbench-hub/shared/config/validation-errors';
import type { Context } from 'hono';
import { HubError, invalidInput } from '../../core/errors.js';
import type { FileStore, Hold } from '../../core/ports/files.js';
import type { RequestPermit } from '../middleware/admission.js';
import { BodyChunks } from './body-chunks.js';
import type { BlobPaths, FileLimits } from './body-blob.js';
import { IncomingContents, type IncomingContentsOptions } from './incoming-blobs.js';
import { parseJsonBody } from './json-parsing.js';
import type { JsonPath } from './json-tree.js';

export interface BodyLimit {
  readonly bytes: number;
  /** Where the limit comes from, for whoever exceeds it. */
  readonly setBy: string;
}

/** Gives the value of the body. Where `contents` says so, a large body holds a StoredContent in place of the Base64.
 *  Throws BODY_TOO_LARGE as soon as too much is announced or has come, OVERLOADED when there is no room to hold it,
 *  INVALID_INPUT, and what the file store rejects with; then nothing of the body is half-written. What is stored is held by
 *  `hold`. */
export type BodyReader = (
  context: Context,
  contents: BlobPaths | undefined,
  place: Held,
  hold: Hold,
) => Promise<unknown>;

/** Told of every byte of a body that is held in memory. */
type Held = Pick<RequestPermit, 'hold'>;

export interface BodyReaderOptions {
  readonly maxBytes: number;
  readonly files: FileStore;
  readonly limits: FileLimits;
}

/** A body up to this size is held and parsed at once. */
const SMALL_BYTES = 256 * 1024;

/** A body up to this size may come without its bytes being counted one by one: it is little, even while it is slow. */
const TINY_BYTES = 16 * 1024;

/** No body without contents needs as much. It is parsed in one go, for which everybody else waits: a larger one could hold
 *  a nest or a list that takes seconds. */
const HELD: BodyLimit = { bytes: 1024 * 1024, setBy: 'the limit of bodies without files' };

export function bodyReader({ maxBytes, ...options }: BodyReaderOptions): BodyReader {
  return async (context, contents, place, hold) => {
    const limit = { bytes: maxBytes, setBy: 'limits.requestBody' };
    if (!contents) return readJson(context, maxBytes < HELD.bytes ? limit : HELD, place);
    const announced = announcedBytes(context);
    if (announced !== undefined && announced <= SMALL_BYTES) return readJson(context, limit, place);
    if (announced !== undefined && announced > maxBytes) throw tooLarge(limit);
    const { incoming } = context.env as HttpBindings;
    const body = counted(incoming.iterator({ destroyOnReturn: false }), limit);
    try {
      const start = await readStart(body, place);
      if (start.isWhole) return parse(start.bytes);
      return await takeIn(rejoined(start.bytes, body), contents, { ...options, hold });
    } catch (error) {
      throw isBrokenOff(incoming, error)
        ? new HubError('INVALID_INPUT', 'the request was broken off')
        : error;
    }
  };
}

async function takeIn(
  body: AsyncIterable<Buffer>,
  isContent: BlobPaths,
  options: IncomingContentsOptions,
): Promise<unknown> {
  const contents = new IncomingContents(options);
  const sink = {
    begin: (path: JsonPath) => (isContent(path) ? contents.begin(pathText(path)) : undefined),
    push: (characters: Buffer) => contents.push(characters),
    end: () => contents.end(),
  };
  try {
    const value = await parseJsonBody(body, sink, () => contents.keepUp());
    await contents.finish();
    return value;
  } catch (error) {
    await contents.abandon();
    throw error;
  }
}

/** Reads a JSON body into memory, whatever its content type says. Throws BODY_TOO_LARGE as soon as more than the limit is
 *  announced or has come, and INVALID_INPUT for what is not JSON. */
export async function readJson(context: Context, limit: BodyLimit, place: Held): Promise<unknown> {
  const announced = announcedBytes(context);
  if (announced !== undefined && announced > limit.bytes) throw tooLarge(limit);
  if (announced !== undefined && announced <= TINY_BYTES) {
    const body = cameWhole(context, announced) ?? Buffer.from(await context.req.arrayBuffer());
    place.hold(body.length);
    return parse(body);
  }
  const pieces: Buffer[] = [];
  for await (const piece of counted(bodyOf(context), limit)) {
    place.hold(piece.length);
    pieces.push(piece);
  }
  return parse(Buffer.concat(pieces));
}

/** The body of a request as Node reads it, which costs less than a web stream over it. */
function bodyOf(context: Context): AsyncIterable<Uint8Array> {
  const { incoming } = context.env as HttpBindings;
  return incoming.iterator({ destroyOnReturn: false });
}

/** The body, if all of it has come, as with a request that fits into one packet: it need not be streamed then. */
function cameWhole(context: Context, announced: number): Buffer | undefined {
  const { incoming } = context.env as HttpBindings;
  if (announced === 0 || incoming.readableLength !== announced) return undefined;
  const body = incoming.read() as Buffer;
  // Only its end is left to come.
  incoming.resume();
  return body;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

function parse(bytes: Buffer): unknown {
  const text = decode(bytes);
  if (text.trim() === '') throw invalidInput([{ where: 'body', what: 'is required, as JSON' }]);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidInput([{ where: 'body', what: `is not JSON: ${(error as Error).message}` }]);
  }
}

/** JSON is UTF-8 (RFC 8259, 8.1); what is not is not guessed at. A byte order mark is passed over. */
function decode(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch (error) {
    throw invalidInput([{ where: 'body', what: `is not JSON: ${(error as Error).message}` }]);
  }
}

function announcedBytes(context: Context): number | undefined {
  const announced = context.req.header('content-length');
  return announced === undefined ? undefined : Number(announced);
}

/** The body, which fails as soon as it has given more than the limit, or too many short pieces. */
async function* counted(body: AsyncIterable<Uint8Array>, limit: BodyLimit): AsyncGenerator<Buffer, void> {
  const pieces = new BodyChunks();
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > limit.bytes) throw tooLarge(limit);
    const fault = pieces.faultOf(piece.length);
    if (fault) throw fault;
    yield Buffer.from(piece.buffer, piece.byteOffset, piece.length);
  }
}

/** Reads until it is clear that the body is not small. */
async function readStart(
  body: AsyncGenerator<Buffer, void>,
  place: Held,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const pieces: Buffer[] = [];
  let length = 0;
  while (length <= SMALL_BYTES) {
    const { value, done } = await body.next();
    if (done) return { bytes: Buffer.concat(pieces), isWhole: true };
    place.hold(value.length);
    pieces.push(value);
    length += value.length;
  }
  return { bytes: Buffer.concat(pieces), isWhole: false };
}

async function* rejoined(start: Buffer, rest: AsyncGenerator<Buffer, void>): AsyncGenerator<Buffer, void> {
  yield start;
  yield* rest;
}

function isBrokenOff(incoming: IncomingMessage, error: unknown): boolean {
  return !(error instanceof HubError) && incoming.destroyed && !incoming.complete;
}

function tooLarge({ bytes, setBy }: BodyLimit): HubError {
  return new HubError('BODY_TOO_LARGE', `the body may have at most ${bytes} bytes (${setBy})`);
}
