/** Answers with a stored content as a file to be saved: whole or in part, or not at all when the client has it (RFC 9110). */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Context } from 'hono';
import { contentRange, rangeOf } from '../parsing/byte-range.js';
import { HubError } from '../../core/errors.js';
import type { ByteRange, StoredFile } from '../../core/ports/files.js';

export interface OfferedFile {
  readonly name: string;
  /** Of its content, which is its entity tag: another content is another file. */
  readonly digest: string;
  readonly file: StoredFile;
}

/** The first piece is read before the answer begins, so that what cannot be read becomes an error answer; what turns out
 *  to be damaged later breaks the connection off. */
export async function answerWithFile(
  context: Context,
  { name, digest, file }: OfferedFile,
  log: Logger,
): Promise<Response> {
  const { req } = context;
  const { sizeBytes } = file;
  const etag = `"${digest}"`;
  const headers = {
    etag,
    'accept-ranges': 'bytes',
    // Under the same name there may be another file tomorrow.
    'cache-control': 'private, no-cache',
  };
  if (isKnown(req.header('if-none-match'), etag)) return new Response(null, { status: 304, headers });
  // Only GET knows ranges (14.2).
  const isInPart = req.raw.method === 'GET' && appliesTo(req.header('if-range'), etag);
  const range = isInPart ? rangeOf(req.header('range'), sizeBytes) : undefined;
  if (range === 'UNSATISFIABLE') {
    context.header('Content-Range', `bytes */${sizeBytes}`);
    throw new HubError('RANGE_NOT_SATISFIABLE', `the file has ${sizeBytes} bytes`);
  }
  const { start, end } = range ?? { start: 0, end: sizeBytes };
  const body =
    req.raw.method === 'HEAD'
      ? null
      : await bodyOf(file, range, (error) => {
          log.error(
            { err: error, digest },
            'a stored file could not be read to its end; its download was broken off',
          );
        });
  return new Response(body, {
    status: range ? 206 : 200,
    headers: {
      ...headers,
      'content-type': 'application/octet-stream',
      'content-length': String(end - start),
      'content-disposition': attachment(name),
      ...(range ? { 'content-range': contentRange(range, sizeBytes) } : {}),
    },
  });
}

/** RFC 6266: the name as it is for those who know `filename*`, and something like it for all others. */
export function attachment(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const exact = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${exact}`}`;
}

/** `*`, or a list of tags of which one is this one. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  return (ifNoneMatch ?? '').split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()));
}

/** A range is of use only for the file of which the client has the rest (13.1.5: a date or weak tag never fits). */
function appliesTo(ifRange: string | undefined, etag: string): boolean {
  return ifRange === undefined || ifRange === etag;
}

async function bodyOf(
  file: StoredFile,
  range: ByteRange | undefined,
  onFault: (error: unknown) => void,
): Promise<ReadableStream<Uint8Array>> {
  const pieces = file.open(range)[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let first: IteratorResult<Buffer> | undefined = await pieces.next();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const piece = first ?? (await pieces.next());
          first = undefined;
          if (piece.done) controller.close();
          else controller.enqueue(piece.value);
        } catch (error) {
          onFault(error);
          throw error;
        }
      },
      cancel: async () => void (await pieces.return?.()),
    },
    { highWaterMark: 0 },
  );
}
