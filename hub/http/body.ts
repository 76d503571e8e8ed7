import { constants } from 'node:buffer';
import type { Context } from 'hono';
import { HubError, invalidInput } from '../core/errors.js';

/** Reads a JSON body, whatever its content type says. Throws BODY_TOO_LARGE as soon as more than `maxBytes` are
 *  announced or have come, and INVALID_INPUT for what is not JSON. */
export async function readJson(context: Context, maxBytes: number): Promise<unknown> {
  // A text of the JavaScript engine has an upper limit of its own.
  const limitBytes = Math.min(maxBytes, constants.MAX_STRING_LENGTH);
  const announced = context.req.header('content-length');
  if (announced !== undefined && Number(announced) > limitBytes) throw tooLarge(limitBytes);
  const text =
    announced === undefined
      ? decode(await readCounted(context, limitBytes))
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

async function readCounted(context: Context, limitBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of context.req.raw.body ?? []) {
    length += piece.length;
    if (length > limitBytes) throw tooLarge(limitBytes);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function tooLarge(limitBytes: number): HubError {
  return new HubError('BODY_TOO_LARGE', `the body may have at most ${limitBytes} bytes (limits.requestBody)`);
}
