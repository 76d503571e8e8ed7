/** Blobs over HTTP: GET, HEAD and PUT of `/agent/files/<digest>` with the token of the link. */

import { Readable } from 'node:stream';
import { type Dispatcher, request } from 'undici';
import { type FileTransfer, TransferFailed, type TransferFailure } from '../joining/ports/hub.js';
import { BlobLost } from '../joining/ports/spool.js';
import { abortable } from '../runtime/abortable.js';
import { messageOf } from '../runtime/message-of.js';
import { fileUrl } from './addresses.js';

export interface HttpFilesOptions {
  readonly address: string;
  readonly token: string;
  readonly dispatcher: Dispatcher;
}

const MAX_ERROR_BODY_BYTES = 8192;

export function httpFiles({ address, token, dispatcher }: HttpFilesOptions): FileTransfer {
  const authorization = `Bearer ${token}`;
  const call = async (
    digest: string,
    options: {
      method: 'GET' | 'HEAD' | 'PUT';
      signal: AbortSignal;
      headers?: Record<string, string>;
      body?: Readable;
    },
  ) => {
    const { headers, ...rest } = options;
    try {
      const response = request(fileUrl(address, digest), {
        ...rest,
        dispatcher,
        // By default undici closes the connection after a HEAD.
        reset: false,
        headers: { authorization, ...headers },
      });
      // undici itself aborts no request that waits for a connection.
      return await abortable(response, rest.signal);
    } catch (error) {
      throw transferError(error, options.method);
    }
  };

  return {
    async download(digest, fromByte, signal) {
      const headers = fromByte === 0 ? {} : { range: `bytes=${fromByte}-`, 'if-range': `"${digest}"` };
      const { statusCode, headers: answer, body } = await call(digest, { method: 'GET', signal, headers });
      if (statusCode === 200) return { fromByte: 0, content: chunks(body) };
      const begins = `${answer['content-range']}`.startsWith(`bytes ${fromByte}-`);
      if (statusCode === 206 && begins) return { fromByte, content: chunks(body) };
      // The partial blob is longer than the blob.
      if (statusCode === 416 && fromByte > 0) {
        await body.dump().catch(() => undefined);
        return this.download(digest, 0, signal);
      }
      throw await refusal('GET', statusCode, body);
    },
    async uploadedBytes(digest, signal) {
      const { statusCode, headers, body } = await call(digest, { method: 'HEAD', signal });
      await body.dump();
      if (statusCode === 200 || statusCode === 204) return 'WHOLE';
      if (statusCode !== 404)
        throw new TransferFailed(failureOf('HEAD', statusCode), `the hub answered HEAD with ${statusCode}`);
      // Hubs without resume omit it.
      const keptBytes = Number(headers['upload-offset'] ?? 0);
      return { keptBytes: Number.isSafeInteger(keptBytes) ? keptBytes : 0 };
    },
    async upload({ digest, sizeBytes }, content, fromByte, signal) {
      const headers = {
        'content-length': `${sizeBytes - fromByte}`,
        'content-type': 'application/octet-stream',
        ...(fromByte === 0 ? {} : { 'content-range': `bytes ${fromByte}-${sizeBytes - 1}/${sizeBytes}` }),
      };
      const source = Readable.from(content, { objectMode: false });
      try {
        const { statusCode, body } = await call(digest, { method: 'PUT', signal, headers, body: source });
        if (statusCode < 200 || statusCode > 299) throw await refusal('PUT', statusCode, body);
        await body.dump();
      } finally {
        source.destroy();
      }
    },
  };
}

async function* chunks(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw transferError(error, 'GET');
  }
}

async function refusal(
  method: 'GET' | 'PUT',
  statusCode: number,
  body: Dispatcher.ResponseData['body'],
): Promise<TransferFailed> {
  const why = await messageOfBody(body);
  return new TransferFailed(
    failureOf(method, statusCode),
    `the hub answered ${method} with ${statusCode}${why === '' ? '' : `: ${why}`}`,
  );
}

const FAILURES: ReadonlyMap<string, TransferFailure> = new Map([
  ['GET 404', 'MISSING'],
  ['PUT 400', 'MISMATCH'],
]);

function failureOf(method: 'GET' | 'HEAD' | 'PUT', statusCode: number): TransferFailure {
  if (statusCode === 503) return 'UNAVAILABLE';
  return FAILURES.get(`${method} ${statusCode}`) ?? 'REFUSED';
}

/** Message of an error body; empty when there is none. */
async function messageOfBody(body: Dispatcher.ResponseData['body']): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      pieces.push(piece);
      length += piece.length;
      if (length > MAX_ERROR_BODY_BYTES) return '';
    }
    const { message } = JSON.parse(Buffer.concat(pieces).toString()) as { message?: unknown };
    return typeof message === 'string' ? message : '';
  } catch {
    return '';
  }
}

/** Errors of the source are passed on; all others are errors of the network. */
function transferError(error: unknown, method: string): Error {
  if (error instanceof BlobLost || error instanceof TransferFailed) return error;
  const why = messageOf(error);
  return new TransferFailed('UNREACHABLE', `${method} of a blob from the hub broke off: ${why}`, {
    cause: error,
  });
}
