/** Files between hub and agents, under their digest: GET, HEAD and PUT of `/agent/files/<digest>`, also in part. What
 *  goes over the wire is told in shared/agent-protocol/README.md. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { AGENT_PATHS, digestSchema } from '@workbench-hub/shared/agent-protocol/messages';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { contentRange, rangeOf } from '../core/byte-range.js';
import { HubError } from '../core/errors.js';
import { DigestMismatch, type FileStore, TransferInProgress, WrongOffset } from '../core/ports/files.js';
import type { SentBlobs } from '../engine/sent-blobs.js';
import type { AgentAuthenticator } from './agent-authenticator.js';

export interface TransferOptions {
  readonly files: FileStore;
  readonly sentBlobs: SentBlobs;
  readonly authenticator: AgentAuthenticator;
  readonly log: Logger;
  /** The body of an answer that refuses. */
  readonly errorBody: (status: number, message: string, path: string) => object;
}

/** How much of a content the hub keeps that has not come whole. */
const UPLOAD_OFFSET = 'upload-offset';

export type TransferHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A handler that takes requests beneath `/agent/` and says false to all others. Bodies are streamed. */
export function transferHandler({
  files,
  sentBlobs,
  authenticator,
  log,
  errorBody,
}: TransferOptions): TransferHandler {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const identity = await authenticator.admit(request);
    if (!identity) {
      const message = 'the token or credential of the agent is wrong';
      return answer(response, 401, message, { connection: 'close', 'www-authenticate': 'Bearer' });
    }
    const digest = request.url?.slice(AGENT_PATHS.FILES.length + 1) ?? '';
    if (!request.url?.startsWith(`${AGENT_PATHS.FILES}/`) || !digestSchema.safeParse(digest).success) {
      return answer(response, 404, 'no file has this path');
    }
    const agentId = identity.by === 'CREDENTIAL' ? identity.agentId : null;
    if (request.method === 'PUT') return receive(request, response, agentId, digest);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(response, 405, 'GET, HEAD or PUT only');
    return send(request, response, agentId, digest);
  };

  const send = async (
    request: IncomingMessage,
    response: ServerResponse,
    agentId: string | null,
    digest: string,
  ): Promise<void> => {
    // With HEAD an agent finds out what it need not send before it reports.
    const isToBeReported = request.method === 'HEAD';
    const file = await (isToBeReported ? sentBlobs.look(agentId, digest) : files.find(digest));
    if (!file) {
      const receivedBytes = await files.receivedBytes(digest);
      return answer(response, 404, 'there is no file with this digest', { [UPLOAD_OFFSET]: receivedBytes });
    }
    const etag = `"${digest}"`;
    const { sizeBytes } = file;
    const { 'if-range': ifRange, range: wanted } = request.headers;
    const range = ifRange === undefined || ifRange === etag ? rangeOf(wanted, sizeBytes) : undefined;
    if (range === 'UNSATISFIABLE') {
      const headers = { 'content-range': `bytes */${sizeBytes}` };
      return answer(response, 416, `the file has ${sizeBytes} bytes`, headers);
    }
    const headers = { 'content-type': 'application/octet-stream', 'accept-ranges': 'bytes', etag };
    if (request.method === 'HEAD') {
      response.writeHead(200, { ...headers, 'content-length': sizeBytes }).end();
    } else if (range) {
      response.writeHead(206, {
        ...headers,
        'content-length': range.end - range.start,
        'content-range': contentRange(range, sizeBytes),
      });
      await pipeline(file.open(range), response);
    } else {
      response.writeHead(200, { ...headers, 'content-length': sizeBytes });
      await pipeline(file.open(), response);
    }
  };

  const receive = async (
    request: IncomingMessage,
    response: ServerResponse,
    agentId: string | null,
    digest: string,
  ): Promise<void> => {
    const lengthBytes = Number(request.headers['content-length']);
    if (!Number.isSafeInteger(lengthBytes) || lengthBytes < 0)
      return answer(response, 411, 'Content-Length is required');
    const part = partOf(request.headers['content-range'], lengthBytes);
    if (!part) {
      return answer(
        response,
        400,
        'Content-Range names the bytes from somewhere up to the end: bytes 5-9/10',
      );
    }
    try {
      await sentBlobs.receive(agentId, { digest, sizeBytes: part.sizeBytes }, request, part.start);
      response.writeHead(204).end();
    } catch (error) {
      if (error instanceof DigestMismatch) return answer(response, 400, error.message);
      if (error instanceof WrongOffset)
        return answer(response, 409, error.message, { [UPLOAD_OFFSET]: error.receivedBytes });
      if (error instanceof TransferInProgress) return answer(response, 409, error.message);
      if (error instanceof HubError)
        return answer(response, error.code === 'STORAGE_FULL' ? 507 : 503, error.message);
      throw error;
    }
  };

  const answer = (
    response: ServerResponse,
    status: number,
    message: string,
    headers: Record<string, string | number> = {},
  ): void => {
    const { req } = response;
    const isAsked = req.method === 'HEAD';
    const body = Buffer.from(JSON.stringify(errorBody(status, message, req.url ?? '')));
    response.writeHead(status, {
      ...headers,
      ...(isAsked ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
    });
    response.end(isAsked ? undefined : body);
    // A sender that is cut off in the middle of its sentence would not hear the answer. A stranger need not.
    if (status !== 401) req.resume();
  };

  return (request, response) => {
    if (!request.url?.startsWith('/agent/')) return false;
    serve(request, response).catch((error: unknown) => {
      const broken =
        (error as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE' || request.destroyed;
      if (!broken) log.error({ err: error, path: request.url }, 'a file transfer failed');
      if (response.headersSent) response.destroy();
      else answer(response, 500, 'the transfer failed; the log of the hub tells more');
    });
    return true;
  };
}

/** Which part of a content a request carries, by its Content-Range if it has one; undefined when that makes no sense. */
function partOf(
  header: string | undefined,
  lengthBytes: number,
): { start: number; sizeBytes: number } | undefined {
  if (header === undefined) return { start: 0, sizeBytes: lengthBytes };
  const [start, last, sizeBytes] = (/^bytes (\d+)-(\d+)\/(\d+)$/.exec(header) ?? []).slice(1).map(Number);
  if (start === undefined || last === undefined || sizeBytes === undefined) return undefined;
  if (!Number.isSafeInteger(sizeBytes) || last !== sizeBytes - 1 || last - start + 1 !== lengthBytes) {
    return undefined;
  }
  return { start, sizeBytes };
}
