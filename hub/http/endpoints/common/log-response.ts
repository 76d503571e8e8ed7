/** Responses with a log, as plain text: whole or a part, of which `Range` may take a part in turn (RFC 9110, 14). */
import type { Context } from 'hono';
import { z } from 'zod';
import { HubError } from '../../../core/errors.js';
import type { LogText } from '../../../core/log-parts.js';
import type { ByteRange } from '../../../core/ports/blobs.js';
import type { ResponseSpec } from '../../routing/endpoint.js';
import { contentRange, rangeOf } from '../../wire/byte-range.js';

/** Bytes of a log or of its requested part. */
export interface LogContent {
  /** The log in an error message: `the log of the task`. */
  readonly name: string;
  readonly sizeBytes: number;
  /** Called once, with a range that is not empty. */
  open(range: ByteRange): ReadableStream<Uint8Array> | Buffer;
}

/** Positions of the first byte of a response and of the one after the last. */
export interface LogPositions {
  readonly offset: number;
  readonly nextOffset: number;
}

const OFFSET = 'Log-Offset';
const NEXT_OFFSET = 'Log-Next-Offset';

const CONTENT = { schema: z.string(), contentType: 'text/plain' };

/** Responses of an endpoint with a log, for the OpenAPI document. */
export function logResponses(description: string): Readonly<Record<200 | 206 | 416, ResponseSpec>> {
  return {
    200: {
      description,
      ...CONTENT,
      headers: {
        [OFFSET]: 'Position of the first character, when `tail` or `offset` was given and the log may grow.',
        [NEXT_OFFSET]: 'The `offset` with which the log continues, in the same cases.',
      },
    },
    206: { description: 'The requested range.', ...CONTENT },
    416: { description: 'There is no such range.' },
  };
}

/** `positions` are null when none were asked for, or the log does not grow. Throws RANGE_NOT_SATISFIABLE. */
export function logResponse(context: Context, content: LogContent, positions: LogPositions | null): Response {
  const { req } = context;
  const { name, sizeBytes } = content;
  // A growing log has no entity tag that If-Range could name.
  const isInPart = req.raw.method === 'GET' && req.header('if-range') === undefined;
  const range = isInPart ? rangeOf(req.header('range'), sizeBytes) : undefined;
  if (range === 'UNSATISFIABLE') {
    context.header('Content-Range', `bytes */${sizeBytes}`);
    throw new HubError('RANGE_NOT_SATISFIABLE', `${name} has ${sizeBytes} bytes`);
  }
  const { start, end } = range ?? { start: 0, end: sizeBytes };
  const body = sizeBytes === 0 || req.raw.method === 'HEAD' ? null : content.open({ start, end });
  return new Response(body, {
    status: range ? 206 : 200,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'accept-ranges': 'bytes',
      'content-length': String(end - start),
      ...(range ? { 'content-range': contentRange(range, sizeBytes) } : {}),
      ...(positions && !range ? positionHeaders(positions) : {}),
    },
  });
}

export function positionHeaders({ offset, nextOffset }: LogPositions): Record<string, string> {
  return { [OFFSET]: String(offset), [NEXT_OFFSET]: String(nextOffset) };
}

export function positionsOf({ text, offset }: LogText): LogPositions {
  return { offset, nextOffset: offset + text.length };
}

export function textContent(name: string, text: string): LogContent {
  const bytes = Buffer.from(text);
  return { name, sizeBytes: bytes.length, open: ({ start, end }) => bytes.subarray(start, end) };
}
