/** Contents over HTTP: GET, HEAD and PUT of `/agent/files/<digest>` with the token of the link. */
import { Readable } from 'node:stream';
import { type Dispatcher, request } from 'undici';
import type { FileTransfer } from '../core/ports/hub.js';
import { TransferFailed } from '../core/ports/hub.js';
import { ContentLost } from '../core/ports/spool.js';
import { fileUrl } from './addresses.js';

export interface HttpFilesOptions {
  readonly address: string;
  readonly token: string;
  readonly dispatcher: Dispatcher;
}

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
      return await request(fileUrl(address, digest), {
        ...rest,
        dispatcher,
        // Left to itself, undici closes the connection after a HEAD, for servers that send a body then.
        reset: false,
        headers: { authorization, ...headers },
      });
    } catch (error) {
      throw transferError(error, options.method);
    }
  };

  return {
    async download(digest, signal) {
      const { statusCode, body } = await call(digest, { method: 'GET', signal });
      if (statusCode === 200) return chunks(body);
      throw await refusal('GET', statusCode, body);
    },
    async has(digest, signal) {
      const { statusCode, body } = await call(digest, { method: 'HEAD', signal });
      await body.dump();
      if (statusCode === 404) return false;
      if (statusCode === 200 || statusCode === 204) return true;
      throw new TransferFailed('REFUSED', `the hub answered HEAD with ${statusCode}`);
    },
    async upload({ digest, sizeBytes }, content, signal) {
      const headers = { 'content-length': `${sizeBytes}`, 'content-type': 'application/octet-stream' };
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
  method: string,
  statusCode: number,
  body: Dispatcher.ResponseData['body'],
): Promise<TransferFailed> {
  await body.dump().catch(() => undefined);
  const failure = statusCode === 404 && method === 'GET' ? 'MISSING' : 'REFUSED';
  return new TransferFailed(failure, `the hub answered ${method} with ${statusCode}`);
}

/** What the disk said of the source passes as it is; all else is the network's. */
function transferError(error: unknown, method: string): Error {
  if (error instanceof ContentLost || error instanceof TransferFailed) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new TransferFailed('UNREACHABLE', `${method} of a content from the hub broke off: ${why}`, {
    cause: error,
  });
}
