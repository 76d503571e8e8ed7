/** Responses with a blob: whole or in part, or with 304 when the client has it (RFC 9110). `fresh` is unsuitable for the
 *  conditions: it takes a request with `Cache-Control: no-cache` for one without them. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Context } from 'hono';
import { HubError } from '../../../core/errors.js';
import type { FoundBlob } from '../../../core/ports/blobs.js';
import { openBlobStream } from '../../wire/blob-stream.js';
import { contentRange, rangeOf } from '../../wire/byte-range.js';

export interface OfferedBlob {
  /** Name to save it under; null for a blob that is not shown to users. */
  readonly name: string | null;
  /** Serves as entity tag: other content has another digest. */
  readonly digest: string;
  readonly file: FoundBlob;
}

/** The connection is cut when the blob turns out to be damaged after the first chunk. */
export async function blobResponse(
  context: Context,
  { name, digest, file }: OfferedBlob,
  log: Logger,
): Promise<Response> {
  const { req } = context;
  const { sizeBytes } = file;
  const etag = `"${digest}"`;
  // Another file may have the same name tomorrow.
  const caching = name === null ? {} : { 'cache-control': 'private, no-cache' };
  const headers = { etag, 'accept-ranges': 'bytes', ...caching };
  if (isKnown(req.header('if-none-match'), etag)) return new Response(null, { status: 304, headers });
  // Range applies to GET only (14.2).
  const isInPart = req.raw.method === 'GET' && appliesTo(req.header('if-range'), etag);
  const range = isInPart ? rangeOf(req.header('range'), sizeBytes) : undefined;
  if (range === 'UNSATISFIABLE') {
    context.header('Content-Range', `bytes */${sizeBytes}`);
    throw new HubError('RANGE_NOT_SATISFIABLE', `the file has ${sizeBytes} bytes`);
  }
  const { start, end } = range ?? { start: 0, end: sizeBytes };
  const onFailure = (error: unknown) =>
    log.error({ err: error, digest }, 'download aborted: the stored file cannot be read to its end');
  const body = req.raw.method === 'HEAD' ? null : await openBlobStream(file, range, onFailure);
  return new Response(body, {
    status: range ? 206 : 200,
    headers: {
      ...headers,
      'content-type': 'application/octet-stream',
      'content-length': String(end - start),
      ...(name === null ? {} : { 'content-disposition': attachment(name) }),
      ...(range ? { 'content-range': contentRange(range, sizeBytes) } : {}),
    },
  });
}

/** Content-Disposition of RFC 6266: the exact name in `filename*`, and an ASCII form of it for older clients. */
export function attachment(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const exact = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${exact}`}`;
}

/** Whether If-None-Match is `*` or lists this tag. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  return (ifNoneMatch ?? '').split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()));
}

/** Whether If-Range lets a range apply: only with the same strong tag (13.1.5). */
function appliesTo(ifRange: string | undefined, etag: string): boolean {
  return ifRange === undefined || ifRange === etag;
}
