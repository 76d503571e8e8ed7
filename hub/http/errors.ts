/** The one table from what went wrong to its HTTP status, and the error body of the interface (specification 7). */
import { STATUS_CODES } from 'node:http';
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { type ErrorCode, HubError } from '../core/errors.js';

const STATUS_OF: Readonly<Record<ErrorCode, ContentfulStatusCode>> = {
  INVALID_INPUT: 400,
  FOREIGN_ORIGIN: 403,
  UNKNOWN_PATH: 404,
  METHOD_NOT_ALLOWED: 405,
  BODY_TOO_LARGE: 413,
  TASK_NOT_FOUND: 404,
  INSTANCE_NOT_FOUND: 404,
  AGENT_NOT_FOUND: 404,
  TASK_NOT_CANCELABLE: 409,
  TASK_NOT_DELETABLE: 409,
  INPUT_STORAGE_OFF: 423,
  SHUTDOWN_PREPARED: 423,
  AGENT_UNAVAILABLE: 502,
  RANGE_NOT_SATISFIABLE: 416,
  STORE_UNAVAILABLE: 503,
  STORAGE_FULL: 507,
};

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
  if (error instanceof HubError) {
    return respond(context, runtime, STATUS_OF[error.code], error.message);
  }
  if (context.req.raw.signal.aborted) {
    log.debug({ path: context.req.path }, 'the client went away before the answer');
    return respond(context, runtime, 400, 'the request was broken off');
  }
  const reference = runtime.newId();
  log.error(
    { err: error, reference, method: context.req.method, path: context.req.path },
    'unexpected error',
  );
  return respond(context, runtime, 500, `unexpected error; the log of the hub tells more under ${reference}`);
}

function respond(
  context: Context,
  runtime: Runtime,
  status: ContentfulStatusCode,
  message: string,
): Response {
  const path = new URL(context.req.url).pathname;
  return context.json(errorBody(runtime.clock, status, message, path), status);
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
