/** Transfer of blobs between hub and agents, by digest: GET, HEAD and PUT of `/agent/files/<digest>`, also in part
 *  (shared/agent-protocol/README.md). */
import type { HttpBindings } from '@hono/node-server';
import { AGENT_PATHS, digestSchema } from '@workbench-hub/shared/agent-protocol/messages';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { Context } from 'hono';
import { HubError } from '../../../core/errors.js';
import type { AgentFiles } from '../../../core/ports/agent-files.js';
import {
  type BlobStore,
  DigestMismatch,
  TransferInProgress,
  WrongOffset,
} from '../../../core/ports/blobs.js';
import type { SentBlobs } from '../../../engine/agents/sent-blobs.js';
import { blobResponse } from '../../routing/responses/download.js';
import { isCutOff, statusOf } from '../../wire/errors.js';
import { targetPathOf } from '../../wire/target-path.js';
import type { AgentGuard } from './agent-guard.js';
import { refusal, refusalAfterBody } from './refusal.js';

export interface BlobTransferOptions {
  readonly files: BlobStore;
  readonly sentBlobs: SentBlobs;
  /** Files of the agent for updates; null for a hub that updates none. */
  readonly agentFiles: Pick<AgentFiles, 'find'> | null;
  readonly guard: AgentGuard;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Header with the number of bytes that the hub has of a partial blob. */
const UPLOAD_OFFSET = 'upload-offset';

export class BlobTransfer {
  readonly #options: BlobTransferOptions;

  constructor(options: BlobTransferOptions) {
    this.#options = options;
  }

  async serve(context: Context): Promise<Response> {
    const { guard, clock } = this.#options;
    const { incoming } = context.env as HttpBindings;
    const identity = await guard.admit(incoming);
    if (!identity) {
      const headers = { connection: 'close', 'www-authenticate': 'Bearer' };
      return refusal(context, clock, 401, 'the token or credential of the agent is wrong', headers);
    }
    const digest = digestOf(targetPathOf(incoming));
    if (digest === undefined) return refusalAfterBody(context, clock, 404, 'no file has this path');
    const agentId = identity.by === 'TOKEN' ? null : identity.agentId;
    const { method } = context.req.raw;
    if (method === 'PUT') return this.#receive(context, agentId, digest);
    if (method === 'GET' || method === 'HEAD') return this.#send(context, agentId, digest);
    return refusalAfterBody(context, clock, 405, 'GET, HEAD or PUT only', { allow: 'GET, HEAD, PUT' });
  }

  async #send(context: Context, agentId: string | null, digest: string): Promise<Response> {
    const { files, sentBlobs, agentFiles, clock, log } = this.#options;
    // An agent asks by HEAD which blobs it need not send before it reports.
    const isToBeReported = context.req.raw.method === 'HEAD';
    const file = await (isToBeReported
      ? sentBlobs.findForReport(agentId, digest)
      : (agentFiles?.find(digest) ?? files.find(digest)));
    if (file) return blobResponse(context, { name: null, digest, file }, log);
    const receivedBytes = await files.receivedBytes(digest);
    const headers = { [UPLOAD_OFFSET]: `${receivedBytes}` };
    return refusalAfterBody(context, clock, 404, 'there is no file with this digest', headers);
  }

  async #receive(context: Context, agentId: string | null, digest: string): Promise<Response> {
    const { sentBlobs, clock } = this.#options;
    const { incoming } = context.env as HttpBindings;
    const lengthBytes = Number(incoming.headers['content-length']);
    if (!Number.isSafeInteger(lengthBytes) || lengthBytes < 0)
      return refusalAfterBody(context, clock, 411, 'Content-Length is required');
    const part = partOf(incoming.headers['content-range'], lengthBytes);
    if (!part) {
      const message = 'Content-Range names the bytes up to the end of the file: bytes 5-9/10';
      return refusalAfterBody(context, clock, 400, message);
    }
    try {
      await sentBlobs.receive(agentId, { digest, sizeBytes: part.sizeBytes }, incoming, part.start);
      return context.body(null, 204);
    } catch (error) {
      return this.#refusalOf(error, context);
    }
  }

  #refusalOf(error: unknown, context: Context): Response {
    const { clock } = this.#options;
    if (error instanceof DigestMismatch) return refusalAfterBody(context, clock, 400, error.message);
    if (error instanceof WrongOffset) {
      const headers = { [UPLOAD_OFFSET]: `${error.receivedBytes}` };
      return refusalAfterBody(context, clock, 409, error.message, headers);
    }
    if (error instanceof TransferInProgress) return refusalAfterBody(context, clock, 409, error.message);
    if (error instanceof HubError) {
      const status = statusOf(error) === 507 ? 507 : 503;
      return refusalAfterBody(context, clock, status, error.message);
    }
    if (!isCutOff(context)) (context.env as HttpBindings).incoming.resume();
    throw error;
  }
}

/** The digest that a path names; undefined for another path. */
function digestOf(path: string): string | undefined {
  const prefix = `${AGENT_PATHS.FILES}/`;
  const digest = path.slice(prefix.length);
  return path.startsWith(prefix) && digestSchema.safeParse(digest).success ? digest : undefined;
}

/** The part of a blob that a request carries, by its Content-Range if it has one; undefined when that is malformed. */
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
