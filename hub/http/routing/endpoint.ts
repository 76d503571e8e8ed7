/** One endpoint as data: from it come the route, the validation and its part of the OpenAPI document. */
import type { Context } from 'hono';
import { z } from 'zod';
import type { Caller } from '../../core/access.js';
import type { Hold } from '../../core/ports/files.js';
import type { AuditNote } from '../middleware/audit.js';
import type { Client } from '../middleware/client.js';
import type { BlobPaths } from '../parsing/body-blob.js';
import type { DeferredResponse } from '../responses/deferred-response.js';
import type { ResponseRoom } from '../server/response-memory.js';

export type Method = 'get' | 'post' | 'patch' | 'put' | 'delete';

export interface ResponseSpec {
  readonly description: string;
  /** Absent: no body. */
  readonly schema?: z.ZodType;
  /** `application/json` when left out. */
  readonly contentType?: string;
}

/** Describes the part `file`. */
export interface FormSpec {
  readonly file: string;
}

export interface EndpointSpec<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> {
  readonly method: Method;
  /** With `{name}` for parameters. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** Said in the description of the interface only: the endpoint itself reads them. */
  readonly cookies?: z.ZodObject;
  /** Asked before anything of the body is read; throws to refuse the request. */
  readonly admit?: () => void;
  /** Which texts of the body are contents of files: a large body is not held, these go to the file store as it comes. */
  readonly contents?: BlobPaths;
  /** Instead of a body: a form (multipart/form-data) with one file, which the endpoint reads itself. */
  readonly form?: FormSpec;
  /** Its answer may be large: it is refused while answers that nobody takes fill the memory for them. */
  readonly isLarge?: boolean;
  /** The answers that are particular to this endpoint; 400, 401, 403 and 500 are said of all. */
  readonly responses: Readonly<Record<number, ResponseSpec>>;
}

export interface EndpointInput<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly context: Context;
  /** Who calls; on an endpoint that is open to all, always ANYBODY. */
  readonly caller: Caller;
  /** From where. */
  readonly client: Client;
  /** By which it is known in the logs. */
  readonly requestId: string | null;
  /** Names its span to what follows from it; null when its trace is not kept. */
  readonly traceContext: string | null;
  /** Memory for an answer that is put together as a whole. */
  readonly room: ResponseRoom;
  /** Rejects with UNAUTHENTICATED and FORBIDDEN when the caller may not do this any more; for requests that take long. */
  readonly lookAgain: () => Promise<void>;
  /** For what the audit log shall say of this request beyond what is seen from outside. */
  readonly note: AuditNote;
  /** Of the contents in its body, until it is answered; those that nothing names are removed when it is refused. */
  readonly hold: Hold;
}

export type Answer = Response | DeferredResponse;

export interface Endpoint {
  readonly spec: EndpointSpec<z.ZodType, z.ZodType, z.ZodType>;
  readonly handle: (input: EndpointInput<unknown, unknown, unknown>) => Answer | Promise<Answer>;
}

const nothing = z.unknown();

export function endpoint<
  Params extends z.ZodType = typeof nothing,
  Query extends z.ZodType = typeof nothing,
  Body extends z.ZodType = typeof nothing,
>(
  spec: EndpointSpec<Params, Query, Body>,
  handle: (
    input: EndpointInput<z.output<Params>, z.output<Query>, z.output<Body>>,
  ) => Answer | Promise<Answer>,
): Endpoint {
  return { spec, handle: handle as Endpoint['handle'] };
}
