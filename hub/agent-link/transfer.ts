/** Files between hub and agents, under their digest: GET, HEAD and PUT of `/agent/files/<digest>`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { AGENT_PATHS, digestSchema } from '@workbench-hub/shared/agent-protocol/messages';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { HubError } from '../core/errors.js';
import { DigestMismatch, type FileStore } from '../core/ports/files.js';
import type { AgentDoor } from './agent-door.js';

export interface TransferOptions {
  readonly files: FileStore;
  readonly door: AgentDoor;
  readonly log: Logger;
}

export type TransferHandler = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A handler that takes requests beneath `/agent/` and says false to all others. Bodies are streamed. */
export function transferHandler({ files, door, log }: TransferOptions): TransferHandler {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!door.admit(request)) return answer(response, 401, 'the token or credential of the agent is wrong');
    const digest = request.url?.slice(AGENT_PATHS.FILES.length + 1) ?? '';
    if (!request.url?.startsWith(`${AGENT_PATHS.FILES}/`) || !digestSchema.safeParse(digest).success) {
      return answer(response, 404, 'no file has this path');
    }
    if (request.method === 'PUT') return receive(request, response, digest);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(response, 405, 'GET, HEAD or PUT only');
    const file = await files.find(digest);
    if (!file) return answer(response, 404, 'there is no file with this digest');
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': file.sizeBytes });
    if (request.method === 'HEAD') response.end();
    else await pipeline(file.open(), response);
  };

  const receive = async (
    request: IncomingMessage,
    response: ServerResponse,
    digest: string,
  ): Promise<void> => {
    const sizeBytes = Number(request.headers['content-length']);
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0)
      return answer(response, 411, 'Content-Length is required');
    try {
      await files.receive({ digest, sizeBytes }, request);
      response.writeHead(204).end();
    } catch (error) {
      if (error instanceof DigestMismatch) return answer(response, 400, error.message);
      if (error instanceof HubError)
        return answer(response, error.code === 'STORAGE_FULL' ? 507 : 503, error.message);
      throw error;
    }
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

function answer(response: ServerResponse, status: number, message: string): void {
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
    .end(`${message}\n`);
}
