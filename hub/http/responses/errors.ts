/** The one table from what went wrong to its HTTP status, and the error body of the interface (contract 10.1). */
import { STATUS_CODES } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { type ErrorCode, HubError } from '../../core/errors.js';
import { requestIdOf } from '../middleware/request-id.js';

const STATUS_OF: Readonly<Record<ErrorCode, ContentfulStatusCode>> = {
  INVALID_INPUT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  FOREIGN_ORIGIN: 403,
  TOO_MANY_ATTEMPTS: 429,
  TOO_MANY_REFRESHES: 429,
  OVERLOADED: 503,
  UNKNOWN_PATH: 404,
  METHOD_NOT_ALLOWED: 405,
  BODY_TOO_LARGE: 413,
  QUOTA_EXCEEDED: 413,
  TASK_NOT_FOUND: 404,
  INSTANCE_NOT_FOUND: 404,
  AGENT_NOT_FOUND: 404,
  STORED_FILE_NOT_FOUND: 404,
  STORED_FILE_EXISTS: 409,
  TOKEN_NOT_FOUND: 404,
  TOO_MANY_TOKENS: 409,
  TASK_NOT_CANCELABLE: 409,
  TASK_NOT_DELETABLE: 409,
  INPUT_STORAGE_OFF: 423,
  OUTPUT_STORAGE_OFF: 423,
  SHUTDOWN_PREPARED: 423,
  AGENT_UNAVAILABLE: 502,
  SIGN_ON_UNAVAILABLE: 503,
  RANGE_NOT_SATISFIABLE: 416,
  STORE_UNAVAILABLE: 503,
  STORAGE_FULL: 507,
};

/** A rest of a body up to this size is let pass, so that the connection can be kept. */
const SMALL_REST_BYTES = 64 * 1024;

export interface ErrorBody {
  readonly timestamp: string;
  readonly status: number;
  readonly error: string;
  readonly message: string;
  readonly path: string;
}

/** Answers with the error body. What is no {@link HubError} is a defect: it is logged under a reference number, and the
 *  client sees the number only. */
export function errorResponse(error: unknown, context: Context, runtime: Runtime, log: Logger): Response {
  const { req } = context;
  const { status, message } =
    !(error instanceof HubError) && req.raw.signal.aborted
      ? brokenOff(req.path, log)
      : faultOf(error, { method: req.method, path: req.path, requestId: ofContext(context) }, runtime, log);
  if (leavesBodyUnread(context)) context.header('Connection', 'close');
  for (const [name, value] of Object.entries(headersOf(error))) context.header(name, value);
  return context.json(errorBody(runtime.clock, status, message, pathOf(req.url)), status);
}

/** The same for an answer that comes when the context of its request is gone. */
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
  const { status, message } = faultOf(error, { method, path, requestId }, runtime, log);
  return Response.json(errorBody(runtime.clock, status, message, path), {
    status,
    headers: headersOf(error),
  });
}

/** The rest of a small body is read all the same; a large one, or one of unknown size, ends with its connection. */
function leavesBodyUnread(context: Context): boolean {
  const incoming = (context.env as Partial<HttpBindings> | undefined)?.incoming;
  if (!incoming || incoming.complete) return false;
  const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers;
  return coding !== undefined || Number(length ?? 0) > SMALL_REST_BYTES;
}

function ofContext({ env }: Context): string | null {
  const { incoming } = env as Partial<HttpBindings>;
  return incoming ? requestIdOf(incoming) : null;
}

function headersOf(error: unknown): Record<string, string> {
  if (!(error instanceof HubError)) return {};
  return {
    ...(error.code === 'UNAUTHENTICATED' ? { 'WWW-Authenticate': 'Bearer' } : {}),
    ...(error.retryAfterS === undefined ? {} : { 'Retry-After': String(error.retryAfterS) }),
  };
}

/** The status that an error is answered with. */
export function statusOf(error: unknown): ContentfulStatusCode {
  return error instanceof HubError ? STATUS_OF[error.code] : 500;
}

interface Fault {
  readonly status: ContentfulStatusCode;
  readonly message: string;
}

function brokenOff(path: string, log: Logger): Fault {
  log.debug({ path }, 'the client went away before the answer');
  return { status: 400, message: 'the request was broken off' };
}

function faultOf(
  error: unknown,
  {
    method,
    path,
    requestId,
  }: { readonly method: string; readonly path: string; readonly requestId: string | null },
  runtime: Runtime,
  log: Logger,
): Fault {
  if (error instanceof HubError) return { status: statusOf(error), message: error.message };
  const reference = runtime.newId();
  log.error({ err: error, reference, requestId, method, path }, 'unexpected error');
  return { status: 500, message: `unexpected error; the log of the hub tells more under ${reference}` };
}

/** As it was called: nothing is decoded. */
export function pathOf(url: string): string {
  return new URL(url).pathname;
}

/** The error body of the interface; `path` is the one that was called, empty when it could not be read. */
export function errorBody(clock: Clock, status: number, message: string, path: string): ErrorBody {
  return {
    timestamp: offsetTimestamp(clock.nowMs()),
    status,
    error: STATUS_CODES[status] ?? 'Error',
    message,
    path,
  };
}
