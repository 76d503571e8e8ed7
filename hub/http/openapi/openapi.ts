/** The OpenAPI 3.1 document, generated from the endpoints and their schemas. */
import type { BuildInfo } from '@workbench-hub/shared/runtime/build-info';
import { z } from 'zod';
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import { accessTo, isAlwaysServed } from '../middleware/access-table.js';
import type { Endpoint, FormSpec, ResponseSpec } from '../routing/endpoint.js';
import { withoutLanguageBounds } from './openapi-overrides.js';

const errorSchema = z
  .object({
    timestamp: z
      .string()
      .meta({ description: 'ISO date with offset.', example: '2026-11-21T06:53:00.123+01:00' }),
    status: z.int().meta({ description: 'HTTP status code.', example: 400 }),
    error: z.string().meta({ description: 'HTTP status code as text.', example: 'Bad Request' }),
    message: z.string().meta({ description: 'What was wrong, where, and what is allowed.' }),
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

/** Responses of every endpoint that changes something. */
const ANY_CHANGE: Readonly<Record<number, ResponseSpec>> = {
  507: { description: 'The disk of the hub is full; nothing was changed.' },
};

export function openApiDocument(endpoints: readonly Endpoint[], build: BuildInfo): object {
  const paths: ZodOpenApiPathsObject = {};
  for (const { spec } of endpoints) {
    paths[spec.path] = { ...paths[spec.path], [spec.method]: operationOf(spec) };
  }
  paths[OPENAPI_PATH] = {
    get: {
      tags: ['Service'],
      summary: 'This document',
      responses: {
        200: { description: 'OpenAPI 3.1.', content: { 'application/json': { schema: { type: 'object' } } } },
      },
    },
  };
  const document: ZodOpenApiObject = {
    openapi: '3.1.0',
    info: {
      title: 'Workbench Hub',
      version: build.version,
      description: 'Submit simulation jobs, track them, and get their result files.',
    },
    tags: [...new Set(endpoints.map(({ spec }) => spec.tag))].map((name) => ({ name })),
    paths,
  };
  return createDocument(document, { override: withoutLanguageBounds });
}

function operationOf(spec: Endpoint['spec']): ZodOpenApiOperationObject {
  const withBody = spec.body ? { 413: { description: 'The body is too large.' } } : {};
  const ofChange = spec.method === 'get' ? {} : ANY_CHANGE;
  const responses = Object.entries({
    ...ANY_ENDPOINT,
    ...unavailable(spec),
    ...ofChange,
    ...withBody,
    ...spec.responses,
  });
  return {
    tags: [spec.tag],
    summary: spec.summary,
    ...(spec.description === undefined ? {} : { description: spec.description }),
    requestParams: {
      ...(spec.params instanceof z.ZodObject ? { path: spec.params } : {}),
      ...(spec.query instanceof z.ZodObject ? { query: spec.query } : {}),
      ...(spec.cookies ? { cookie: spec.cookies } : {}),
    },
    ...(spec.body
      ? { requestBody: { required: true, content: { 'application/json': { schema: spec.body } } } }
      : {}),
    ...(spec.form ? { requestBody: formBody(spec.form) } : {}),
    responses: Object.fromEntries(
      responses.map(([status, response]) => [status, responseOf(Number(status), response)]),
    ),
  };
}

/** Reasons why the hub may be unable to serve an endpoint at present. */
function unavailable({ method, path }: Endpoint['spec']): Record<number, ResponseSpec> {
  const access = accessTo(method.toUpperCase(), path);
  const reasons = [
    ...(isAlwaysServed(path, access)
      ? []
      : ['The hub is overloaded; `Retry-After` gives the seconds until the next try.']),
    ...(access === 'OPEN' ? [] : ['The sign-on that issued the token cannot be reached.']),
    ...(method === 'get' ? [] : ['The hub cannot write its database.']),
  ];
  if (reasons.length === 0) return {};
  return {
    503: { description: [...reasons, ...(method === 'get' ? [] : ['Nothing was changed.'])].join(' ') },
  };
}

function formBody({ file }: FormSpec) {
  const schema = {
    type: 'object' as const,
    required: ['file'],
    properties: { file: { type: 'string' as const, format: 'binary', description: file } },
  };
  return { required: true, content: { 'multipart/form-data': { schema } } };
}

function responseOf(status: number, { description, schema, contentType }: ResponseSpec) {
  const content = schema ?? (status >= 400 ? errorSchema : undefined);
  if (!content) return { description };
  return { description, content: { [contentType ?? 'application/json']: { schema: content } } };
}
