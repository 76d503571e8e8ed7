import { constants } from 'node:buffer';
import type { Context } from 'hono';
import { HubError, invalidInput } from '../core/errors.js';

export interface BodyLimit {
  readonly bytes: number;
  /** Where the limit comes from, for whoever exceeds it. */
  readonly setBy: string;
}

/** Reads a JSON body, whatever its content type says. Throws BODY_TOO_LARGE as soon as more than the limit is announced or
 *  has come, and INVALID_INPUT for what is not JSON. */
export async function readJson(context: Context, limit: BodyLimit): Promise<unknown> {
  // A text of the JavaScript engine has an upper limit of its own.
  const limitBytes = Math.min(limit.bytes, constants.MAX_STRING_LENGTH);
  const announced = context.req.header('content-length');
  if (announced !== undefined && Number(announced) > limitBytes) throw tooLarge(limitBytes, limit);
  const text =
    announced === undefined
      ? decode(await readCounted(context, limitBytes, limit))
      : decode(Buffer.from(await context.req.arrayBuffer()));
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
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw invalidInput([{ where: 'body', what: `is not JSON: ${(error as Error).message}` }]);
  }
}

async function readCounted(context: Context, limitBytes: number, limit: BodyLimit): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of context.req.raw.body ?? []) {
    length += piece.length;
    if (length > limitBytes) throw tooLarge(limitBytes, limit);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function tooLarge(limitBytes: number, { setBy }: BodyLimit): HubError {
  return new HubError('BODY_TOO_LARGE', `the body may have at most ${limitBytes} bytes (${setBy})`);
}
