/** HTTP statuses of errors, and the error body (contract 10.1). */
import { STATUS_CODES } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { type ErrorCode, HubError } from '../../core/errors.js';
import { requestIdOf } from './request-id.js';

const STATUS_OF: Readonly<Record<ErrorCode, ContentfulStatusCode>> = {
  INVALID_INPUT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  FOREIGN_ORIGIN: 403,
  TOO_MANY_ATTEMPTS: 429,
  TOO_MANY_REFRESHES: 429,
  TOO_MANY_STREAMS: 429,
  OVERLOADED: 503,
  UNKNOWN_PATH: 404,
  METHOD_NOT_ALLOWED: 405,
  BODY_TOO_LARGE: 413,
  BODY_TOO_SLOW: 408,
  QUOTA_EXCEEDED: 413,
  TASK_NOT_FOUND: 404,
  TASK_FILE_NOT_FOUND: 404,
  INSTANCE_NOT_FOUND: 404,
  AGENT_NOT_FOUND: 404,
  AGENT_NOT_ENROLLED: 409,
  AGENT_NOT_UPDATABLE: 409,
  STORED_FILE_NOT_FOUND: 404,
  STORED_FILE_EXISTS: 409,
  STORED_FILE_FOREIGN: 403,
  UPLOAD_NOT_FOUND: 404,
  UPLOAD_IN_PROGRESS: 423,
  WRONG_OFFSET: 409,
  DIGEST_MISMATCH: 400,
  UNSUPPORTED_MEDIA_TYPE: 415,
  UNSUPPORTED_TUS_VERSION: 412,
  USER_NOT_FOUND: 404,
  USER_EXISTS: 409,
  USER_CONFIGURED: 409,
  OWN_USER: 409,
  LAST_ADMINISTRATOR: 409,
  TOKEN_NOT_FOUND: 404,
  TOO_MANY_TOKENS: 409,
  TASK_NOT_CANCELABLE: 409,
  TASK_NOT_DELETABLE: 409,
  STUDY_NOT_FOUND: 404,
  STUDY_NOT_CHANGEABLE: 409,
  INVALIDATION_NOT_FOUND: 404,
  RECIPE_NOT_FOUND: 404,
  IDEMPOTENCY_KEY_REUSED: 422,
  INPUT_STORAGE_OFF: 423,
  OUTPUT_STORAGE_OFF: 423,
  SHUTDOWN_PREPARED: 423,
  AGENT_UNAVAILABLE: 502,
  HUB_UNAVAILABLE: 503,
  SIGN_ON_UNAVAILABLE: 503,
  RANGE_NOT_SATISFIABLE: 416,
  STORE_UNAVAILABLE: 503,
  STORAGE_FULL: 507,
};

/** Largest unread rest of a body after which the connection is kept. */
const SMALL_REST_BYTES = 64 * 1024;

export interface ErrorBody {
  readonly timestamp: string;
  readonly status: number;
  readonly error: string;
  readonly message: string;
  readonly path: string;
}

/** Response with the error body. An error other than {@link HubError} is a defect: it is logged under a reference number, and
 *  the client sees only that number. */
export function errorResponse(error: unknown, context: Context, runtime: Runtime, log: Logger): Response {
  const { req } = context;
  const { status, message } =
    !(error instanceof HubError) && (req.raw.signal.aborted || isCutOff(context))
      ? clientGone(req.path, log)
      : reported(error, { method: req.method, path: req.path, requestId: ofContext(context) }, runtime, log);
  if (statusOf(error) === 408 || leavesBodyUnread(context)) context.header('Connection', 'close');
  for (const [name, value] of Object.entries(headersOf(error))) context.header(name, value);
  return context.json(errorBody(runtime.clock, status, message, pathOf(req.url)), status);
}

/** The same for a deferred response, whose request has no context any more. */
export function deferredErrorResponse(
  error: unknown,
  {
    method,
    url,
    requestId,
  }: { readonly method: string; readonly url: string; readonly requestId: string | null },
  runtime: Runtime,
  log: Logger,
): Response {
  const path = pathOf(url);
  const { status, message } = reported(error, { method, path, requestId }, runtime, log);
  return Response.json(errorBody(runtime.clock, status, message, path), {
    status,
    headers: headersOf(error),
  });
}

/** Whether a large body, or one of unknown size, is left unread, so that the connection must end. */
function leavesBodyUnread(context: Context): boolean {
  const incoming = (context.env as Partial<HttpBindings> | undefined)?.incoming;
  if (!incoming || incoming.complete) return false;
  const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers;
  return coding !== undefined || Number(length ?? 0) > SMALL_REST_BYTES;
}

/** Whether the client disconnected in the middle of its body. */
export function isCutOff({ env }: Context): boolean {
  const { incoming } = env as Partial<HttpBindings>;
  return incoming?.destroyed === true && !incoming.complete;
}

function ofContext({ env }: Context): string | null {
  const { incoming } = env as Partial<HttpBindings>;
  return incoming ? requestIdOf(incoming) : null;
}

function headersOf(error: unknown): Record<string, string> {
  if (!(error instanceof HubError)) return {};
  return {
    'X-Error-Code': error.code,
    ...(error.code === 'UNAUTHENTICATED' ? { 'WWW-Authenticate': 'Bearer' } : {}),
    ...(error.retryAfterS === undefined ? {} : { 'Retry-After': String(error.retryAfterS) }),
  };
}

export function statusOf(error: unknown): ContentfulStatusCode {
  return error instanceof HubError ? STATUS_OF[error.code] : 500;
}

interface Report {
  readonly status: ContentfulStatusCode;
  readonly message: string;
}

function clientGone(path: string, log: Logger): Report {
  log.debug({ path }, 'the client disconnected before the response');
  return { status: 400, message: 'the request was aborted' };
}

function reported(
  error: unknown,
  {
    method,
    path,
    requestId,
  }: { readonly method: string; readonly path: string; readonly requestId: string | null },
  runtime: Runtime,
  log: Logger,
): Report {
  if (error instanceof HubError) return { status: statusOf(error), message: error.message };
  const reference = runtime.newId();
  log.error({ err: error, reference, requestId, method, path }, 'unexpected error');
  return { status: 500, message: `unexpected error; see ${reference} in the log of the hub` };
}

/** Path of a URL, as it was called: nothing is decoded. */
export function pathOf(url: string): string {
  return new URL(url).pathname;
}

/** `path` is empty when it could not be read. */
export function errorBody(clock: Clock, status: number, message: string, path: string): ErrorBody {
  return {
    timestamp: offsetTimestamp(clock.nowMs()),
    status,
    error: STATUS_CODES[status] ?? 'Error',
    message,
    path,
  };
}
