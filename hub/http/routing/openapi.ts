/** The OpenAPI 3.1 document, generated from the endpoints and their schemas. */
import type { BuildInfo } from '@workbench-hub/shared/runtime/build-info';
import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import { accessTo, isAlwaysServed } from '../requests/access-table.js';
import { withoutLanguageBounds } from '../wire/openapi-overrides.js';
import { describedTag } from '../wire/tags.js';
import type { Endpoint, FormPart, FormSpec, ResponseSpec, StreamSpec } from './endpoint.js';
import { describedRole, securityOf, securitySchemes } from './openapi-security.js';

const errorSchema = z
  .object({
    timestamp: z
      .string()
      .meta({ description: 'ISO date with offset.', example: '2026-11-21T06:53:00.123+01:00' }),
    status: z.int().meta({ description: 'HTTP status code.', example: 400 }),
    error: z.string().meta({ description: 'HTTP status code as text.', example: 'Bad Request' }),
    message: z.string().meta({ description: 'Reason: what was wrong, where, and what is allowed.' }),
    path: z.string().meta({ description: 'Path that was called.' }),
  })
  .meta({ id: 'Error' });

export const OPENAPI_PATH = '/openapi.json';

const ANY_ENDPOINT: Readonly<Record<number, ResponseSpec>> = {
  400: { description: 'The parameters are not valid.' },
  401: { description: 'Unauthorized.' },
  403: { description: 'Forbidden.' },
  500: { description: 'Unexpected error.' },
};

const SECURITY_ON =
  'Most operations need an access token and a role. `logIn` exchanges a username and a password for a token.';
const SECURITY_OFF = 'Security is off on this hub: no operation needs an access token.';

/** Responses of every endpoint that changes something. */
const ANY_CHANGE: Readonly<Record<number, ResponseSpec>> = {
  507: { description: 'The disk of the hub is full; nothing was changed.' },
};

const DOCUMENT_OPERATION: ZodOpenApiOperationObject = {
  operationId: 'getOpenApiDocument',
  tags: ['Service'],
  summary: 'This document',
  description: 'Describes the interface of this hub. Needs no access token.',
  security: [],
  responses: {
    200: { description: 'OpenAPI 3.1.', content: { 'application/json': { schema: { type: 'object' } } } },
    403: responseOf(403, {
      description: 'While security is off, the hub was called by a name that is not loopback.',
    }),
  },
};

export interface DocumentOptions {
  readonly build: BuildInfo;
  readonly isSecurityOn: boolean;
  /** `server.publicUrl`. */
  readonly publicUrl: string | null;
}

export function openApiDocument(endpoints: readonly Endpoint[], options: DocumentOptions): object {
  const { build, isSecurityOn, publicUrl } = options;
  const paths: ZodOpenApiPathsObject = {};
  for (const { spec } of endpoints) {
    paths[spec.path] = { ...paths[spec.path], [spec.method]: operationOf(spec, isSecurityOn) };
  }
  paths[OPENAPI_PATH] = { get: DOCUMENT_OPERATION };
  const document: ZodOpenApiObject = {
    openapi: '3.1.0',
    info: {
      title: 'Workbench Hub',
      version: build.version,
      description: `Submit simulation jobs, track them, and get their result files.\n\n${
        isSecurityOn ? SECURITY_ON : SECURITY_OFF
      }`,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: serversOf(publicUrl),
    tags: [...new Set(endpoints.map(({ spec }) => spec.tag))].map(describedTag),
    paths,
    components: { securitySchemes: securitySchemes(isSecurityOn) },
  };
  return createDocument(document, { override: withoutLanguageBounds });
}

/** The public address first, since code generators take the first one; `/docs` may call only the server that it came from. */
function serversOf(publicUrl: string | null) {
  const own = { url: '/', description: 'The server of this document.' };
  if (publicUrl === null) return [own];
  return [{ url: publicUrl.replace(/\/+$/, ''), description: 'The public address of the hub.' }, own];
}

function operationOf(spec: Endpoint['spec'], isSecurityOn: boolean): ZodOpenApiOperationObject {
  const withBody = spec.body ? { 413: { description: 'The body is too large.' } } : {};
  const ofChange = isReading(spec) ? {} : ANY_CHANGE;
  const responses = Object.entries({
    ...ANY_ENDPOINT,
    ...unavailable(spec),
    ...ofChange,
    ...withBody,
    ...spec.responses,
  });
  return {
    operationId: spec.operationId,
    tags: [spec.tag],
    summary: spec.summary,
    description: isSecurityOn ? `${spec.description}\n\n${describedRole(spec)}` : spec.description,
    security: securityOf(spec, isSecurityOn),
    requestParams: {
      ...(spec.params instanceof z.ZodObject ? { path: spec.params } : {}),
      ...(spec.query instanceof z.ZodObject ? { query: spec.query } : {}),
      ...(spec.cookies ? { cookie: spec.cookies } : {}),
      ...(spec.requestHeaders ? { header: spec.requestHeaders } : {}),
    },
    ...(spec.body
      ? { requestBody: { required: true, content: { 'application/json': { schema: spec.body } } } }
      : {}),
    ...(spec.form ? { requestBody: formBody(spec.form) } : {}),
    ...(spec.stream ? { requestBody: streamBody(spec.stream) } : {}),
    responses: Object.fromEntries(
      responses.map(([status, response]) => [status, responseOf(Number(status), response)]),
    ),
  };
}

/** Reasons why the hub may be unable to serve an endpoint at present. */
function unavailable(spec: Endpoint['spec']): Record<number, ResponseSpec> {
  const { method, path } = spec;
  const access = accessTo(method.toUpperCase(), path);
  const reasons = [
    ...(isAlwaysServed(path, access)
      ? []
      : ['The hub is overloaded; `Retry-After` gives the seconds until the next try.']),
    ...(access === 'OPEN' ? [] : ['The sign-on that issued the token cannot be reached.']),
    ...(isReading(spec) ? [] : ['The hub cannot write its database.']),
  ];
  if (reasons.length === 0) return {};
  return {
    503: { description: [...reasons, ...(isReading(spec) ? [] : ['Nothing was changed.'])].join(' ') },
  };
}

function isReading({ method }: Endpoint['spec']): boolean {
  return method === 'get' || method === 'options';
}

function formBody(parts: FormSpec) {
  const schemaOf = ({ description, kind, isRepeated }: FormPart) => {
    const one = { type: 'string' as const, ...(kind === 'FILE' ? { format: 'binary' } : {}) };
    // Tools that know the form as an object see a single one without its list.
    return isRepeated
      ? { anyOf: [{ type: 'array' as const, items: one }, one], description }
      : { ...one, description };
  };
  const entries = Object.entries(parts);
  const schema = {
    type: 'object' as const,
    required: entries.filter(([, { isRequired }]) => isRequired).map(([name]) => name),
    properties: Object.fromEntries(entries.map(([name, part]) => [name, schemaOf(part)])),
  };
  return { required: true, content: { 'multipart/form-data': { schema } } };
}

function streamBody({ contentType, description }: StreamSpec) {
  const schema = { type: 'string' as const, format: 'binary' };
  return { required: true, description, content: { [contentType]: { schema } } };
}

function responseOf(status: number, { description, schema, contentType, headers = {} }: ResponseSpec) {
  const ofHeaders = Object.entries(headers).map(([name, meaning]) => [
    name,
    { description: meaning, schema: { type: 'string' as const } },
  ]);
  const head = {
    description,
    ...(ofHeaders.length === 0 ? {} : { headers: Object.fromEntries(ofHeaders) }),
  };
  const content = schema ?? (status >= 400 ? errorSchema : undefined);
  if (!content) return head;
  return { ...head, content: { [contentType ?? 'application/json']: { schema: content } } };
}
