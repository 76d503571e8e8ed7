/** An endpoint as data: its route, its validation and its part of the OpenAPI document follow from it. */
import type { Context } from 'hono';
import { z } from 'zod';
import type { Caller } from '../../core/access.js';
import type { Hold } from '../../core/ports/blobs.js';
import type { AuditDetails } from '../requests/audit.js';
import type { BlobPaths } from '../requests/parsing/body-blob.js';
import type { Client } from '../wire/client.js';
import type { ResponseRoom } from '../wire/response-memory.js';
import type { Tag } from '../wire/tags.js';
import type { DeferredResponse } from './responses/deferred-response.js';
import type { EventStreamResponse } from './responses/event-stream.js';

export type Method = 'get' | 'post' | 'patch' | 'put' | 'delete' | 'options';

export interface ResponseSpec {
  readonly description: string;
  /** Absent: no body. */
  readonly schema?: z.ZodType;
  /** `application/json` by default. */
  readonly contentType?: string;
  /** Descriptions of headers by name, for the OpenAPI document. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Describes a part of a form. */
export interface FormPart {
  readonly description: string;
  readonly kind: 'FILE' | 'TEXT';
  readonly isRequired?: boolean;
  /** Whether it may be given more than once. */
  readonly isRepeated?: boolean;
}

/** Parts of a form by name. */
export type FormSpec = Readonly<Record<string, FormPart>>;

/** Describes a body that is no JSON. */
export interface StreamSpec {
  readonly contentType: string;
  readonly description: string;
}

export interface EndpointSpec<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> {
  readonly method: Method;
  /** Path, with `{name}` for parameters. `{path}` at its end is all that follows, with its slashes. */
  readonly path: string;
  /** Name of the operation in the OpenAPI document, after which code generators name functions: verb and noun in camel case,
   *  letters and digits only, unique over all API versions. Operations of 1.0 and 1.1 end in `V10` and `V11`, others in no
   *  version. */
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  /** Plain sentences beyond the summary; the document adds the role. */
  readonly description: string;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** For the OpenAPI document only: the endpoint itself reads them. */
  readonly cookies?: z.ZodObject;
  /** Header parameters, for the OpenAPI document only. */
  readonly requestHeaders?: z.ZodObject;
  /** Called before anything of the body is read; throws to refuse the request. */
  readonly admit?: () => void;
  /** Strings of the body that are contents of files: those of a large body go to the blob store as they arrive. */
  readonly blobs?: BlobPaths;
  /** Whether a 201 names the fields of the body that the schema does not know, in the header `Warning`. */
  readonly warnsOfUnknownFields?: boolean;
  /** Instead of a body: a form (multipart/form-data), which the endpoint reads itself. */
  readonly form?: FormSpec;
  /** Instead of a body: bytes, which the endpoint reads itself as they arrive. */
  readonly stream?: StreamSpec;
  /** Headers of every response, also of a refusal. */
  readonly responseHeaders?: Readonly<Record<string, string>>;
  /** Whether the response may be large: then the request is refused while unread responses fill the memory for them. */
  readonly isLarge?: boolean;
  /** Responses of this endpoint beyond 400, 401, 403 and 500, which all endpoints have. */
  readonly responses: Readonly<Record<number, ResponseSpec>>;
}

export interface EndpointInput<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly context: Context;
  /** ANYBODY on an endpoint that is open to all. */
  readonly caller: Caller;
  readonly client: Client;
  readonly requestId: string | null;
  /** Trace context of its span; null when the trace is not kept. */
  readonly traceContext: string | null;
  /** Fields of the body that the schema does not know, in words; null when there are none, or they are not looked for. */
  readonly ignoredFields: string | null;
  /** Memory for a response that is built as a whole. */
  readonly room: ResponseRoom;
  /** For requests that take long: the caller with the roles of now. Rejects with UNAUTHENTICATED and FORBIDDEN when the caller
   *  may no longer do this. */
  readonly reauthorize: () => Promise<Caller>;
  /** Details for the audit log. */
  readonly audit: AuditDetails;
  /** Hold on the blobs in the body until the response; unreferenced ones are removed when the request is refused. */
  readonly hold: Hold;
}

export type EndpointResult = Response | DeferredResponse | EventStreamResponse;

export interface Endpoint {
  readonly spec: EndpointSpec<z.ZodType, z.ZodType, z.ZodType>;
  readonly handle: (
    input: EndpointInput<unknown, unknown, unknown>,
  ) => EndpointResult | Promise<EndpointResult>;
}

const nothing = z.unknown();

/** Endpoint of this specification; the parameters of `handle` have the types that its schemas give. */
export function endpoint<
  Params extends z.ZodType = typeof nothing,
  Query extends z.ZodType = typeof nothing,
  Body extends z.ZodType = typeof nothing,
>(
  spec: EndpointSpec<Params, Query, Body>,
  handle: (
    input: EndpointInput<z.output<Params>, z.output<Query>, z.output<Body>>,
  ) => EndpointResult | Promise<EndpointResult>,
): Endpoint {
  return { spec, handle: handle as Endpoint['handle'] };
}
