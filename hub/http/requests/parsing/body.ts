/** Reading of JSON bodies: small ones at once, large ones with contents of files as they arrive. */
import type { HttpBindings } from '@hono/node-server';
import { pathText } from '@workbench-hub/shared/config/validation-errors';
import type { Context } from 'hono';
import { HubError, invalidInput } from '../../../core/errors.js';
import type { BlobStore, Hold } from '../../../core/ports/blobs.js';
import { isCutOff } from '../../wire/errors.js';
import type { RequestPermit } from '../admission.js';
import type { BlobPaths, FileLimits } from './body-blob.js';
import { BodyChunks } from './body-chunks.js';
import { IncomingBlobs, type IncomingBlobsOptions } from './incoming-blobs.js';
import { parseJsonBody } from './json-parsing.js';
import type { JsonPath } from './json-tree.js';

export interface BodyLimit {
  readonly bytes: number;
  /** Origin of the limit, for the message; null for none. */
  readonly setBy: string | null;
}

/** Returns the value of the body. At the paths of `blobs`, a large body has a {@link StoredBlob} in place of the Base64. Throws
 *  BODY_TOO_LARGE as soon as too much is announced or has arrived, OVERLOADED when there is no memory to hold it, INVALID_INPUT,
 *  and the errors of the blob store; then no blob of the body is half-written. Stored blobs are held by `hold`. */
export type BodyReader = (
  context: Context,
  blobs: BlobPaths | undefined,
  permit: BodyMemory,
  hold: Hold,
) => Promise<unknown>;

/** Counter of the bytes of a body that are held in memory. */
type BodyMemory = Pick<RequestPermit, 'hold'>;

export interface BodyReaderOptions {
  readonly maxBytes: number;
  readonly files: BlobStore;
  readonly limits: FileLimits;
}

/** Largest body that is held and parsed at once. */
const SMALL_BYTES = 256 * 1024;

/** Largest body whose bytes are not counted as they arrive. */
const TINY_BYTES = 16 * 1024;

/** Limit of a body without files. It is parsed in one step, for which all other requests wait: a larger one could hold a nest
 *  or a list that takes seconds. */
const HELD: BodyLimit = { bytes: 1024 * 1024, setBy: 'the limit of bodies without files' };

export function bodyReader({ maxBytes, ...options }: BodyReaderOptions): BodyReader {
  const limit = { bytes: maxBytes, setBy: 'limits.requestBody' };
  const limitWithoutFiles = maxBytes < HELD.bytes ? limit : HELD;
  const readWithFiles: WithFiles = async (context, announced, blobs, permit, hold) => {
    if (announced !== undefined && announced > maxBytes) throw tooLarge(limit);
    const { incoming } = context.env as HttpBindings;
    const body = counted(incoming.iterator({ destroyOnReturn: false }), limit);
    try {
      const start = await readStart(body, permit);
      if (start.isWhole) return parse(start.bytes);
      return await parseWithBlobs(rejoined(start.bytes, body), blobs, { ...options, hold });
    } catch (error) {
      throw !(error instanceof HubError) && isCutOff(context)
        ? new HubError('INVALID_INPUT', 'the request was aborted')
        : error;
    }
  };
  return (context, blobs, permit, hold) => {
    if (!blobs) return readJson(context, limitWithoutFiles, permit);
    const announced = announcedBytes(context);
    if (announced !== undefined && announced <= SMALL_BYTES) return readJson(context, limit, permit);
    return readWithFiles(context, announced, blobs, permit, hold);
  };
}

type WithFiles = (
  context: Context,
  announced: number | undefined,
  blobs: BlobPaths,
  permit: BodyMemory,
  hold: Hold,
) => Promise<unknown>;

async function parseWithBlobs(
  body: AsyncIterable<Buffer>,
  isBlob: BlobPaths,
  options: IncomingBlobsOptions,
): Promise<unknown> {
  const blobs = new IncomingBlobs(options);
  const sink = {
    begin: (path: JsonPath) => (isBlob(path) ? blobs.begin(pathText(path)) : undefined),
    push: (characters: Buffer) => blobs.push(characters),
    end: () => blobs.end(),
  };
  try {
    const value = await parseJsonBody(body, sink, () => blobs.keepUp());
    await blobs.finish();
    return value;
  } catch (error) {
    await blobs.abandon();
    throw error;
  }
}

/** Reads a JSON body into memory, whatever its content type. Throws BODY_TOO_LARGE as soon as more than the limit is announced
 *  or has arrived, and INVALID_INPUT for a body that is not JSON. */
export async function readJson(context: Context, limit: BodyLimit, permit: BodyMemory): Promise<unknown> {
  return parse(arrivedBytes(context, limit, permit) ?? (await readBytes(context, limit, permit)));
}

/** Reads a body into memory. Throws as {@link readJson}. */
export async function readBytes(context: Context, limit: BodyLimit, permit: BodyMemory): Promise<Buffer> {
  const arrived = arrivedBytes(context, limit, permit);
  if (arrived !== undefined) return arrived;
  const announced = announcedBytes(context);
  if (announced !== undefined && announced <= TINY_BYTES) {
    const body = Buffer.from(await context.req.arrayBuffer());
    permit.hold(body.length);
    return body;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of counted(bodyOf(context), limit)) {
    permit.hold(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The body if it is tiny and all of it has arrived; undefined otherwise. Throws BODY_TOO_LARGE. */
function arrivedBytes(context: Context, limit: BodyLimit, permit: BodyMemory): Buffer | undefined {
  const announced = announcedBytes(context);
  if (announced === undefined) return undefined;
  if (announced > limit.bytes) throw tooLarge(limit);
  if (announced > TINY_BYTES) return undefined;
  const body = completeBody(context, announced);
  if (body !== undefined) permit.hold(body.length);
  return body;
}

/** The body as a stream of Node, which costs less than a web stream over it. */
function bodyOf(context: Context): AsyncIterable<Uint8Array> {
  const { incoming } = context.env as HttpBindings;
  return incoming.iterator({ destroyOnReturn: false });
}

/** The body if all of it has arrived, as that of a request in one packet: it need not be streamed then. */
function completeBody(context: Context, announced: number): Buffer | undefined {
  const { incoming } = context.env as HttpBindings;
  if (announced === 0 || incoming.readableLength !== announced) return undefined;
  const body = incoming.read() as Buffer;
  // Only its end is left to arrive.
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

/** JSON is UTF-8 (RFC 8259, 8.1); other encodings are not guessed. A byte order mark is skipped. */
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

/** The body, which fails as soon as it exceeds the limit or has too many short chunks. */
async function* counted(body: AsyncIterable<Uint8Array>, limit: BodyLimit): AsyncGenerator<Buffer, void> {
  const chunks = new BodyChunks();
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limit.bytes) throw tooLarge(limit);
    const error = chunks.errorOf(chunk.length);
    if (error) throw error;
    yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  }
}

/** Reads until the body ends or proves to be large. */
async function readStart(
  body: AsyncGenerator<Buffer, void>,
  permit: BodyMemory,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  while (length <= SMALL_BYTES) {
    const { value, done } = await body.next();
    if (done) return { bytes: Buffer.concat(chunks), isWhole: true };
    permit.hold(value.length);
    chunks.push(value);
    length += value.length;
  }
  return { bytes: Buffer.concat(chunks), isWhole: false };
}

async function* rejoined(start: Buffer, rest: AsyncGenerator<Buffer, void>): AsyncGenerator<Buffer, void> {
  yield start;
  yield* rest;
}

function tooLarge({ bytes, setBy }: BodyLimit): HubError {
  const origin = setBy === null ? '' : ` (${setBy})`;
  return new HubError('BODY_TOO_LARGE', `the body may have at most ${bytes} bytes${origin}`);
}
