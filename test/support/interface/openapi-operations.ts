/** The operations of an OpenAPI document, for tests that are generated from it. */
import type { OpenApiDocument } from './openapi-document.js';

/** A JSON schema, as far as the hub's document uses it. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly oneOf?: readonly JsonSchema[];
}

export interface Parameter {
  /** Cookies are absent: a bad one makes the caller unknown, not the request bad. Headers are absent, too. */
  readonly in: 'path' | 'query' | 'cookie' | 'header';
  readonly name: string;
  readonly schema: JsonSchema;
}

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  /** Names of the security schemes of each alternative. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly Parameter[];
  readonly needsCookie: boolean;
  /** Schema of the JSON body, with references resolved; absent without a body. */
  readonly body?: JsonSchema;
  /** Whether the body is a form with a file. */
  readonly takesForm: boolean;
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, unknown>> }>
  >;
}

interface Described extends Omit<Operation, 'parameters' | 'needsCookie' | 'takesForm'> {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
}

/** All operations, in the order of the document. */
export function operationsIn(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => {
      const { parameters = [], requestBody, ...described } = operation as unknown as Described;
      const body = requestBody?.content['application/json']?.schema;
      return {
        ...described,
        method: method.toUpperCase(),
        path,
        takesForm: requestBody?.content['multipart/form-data'] !== undefined,
        needsCookie: parameters.some((parameter) => parameter.in === 'cookie'),
        parameters: parameters
          .filter((parameter) => parameter.in === 'path' || parameter.in === 'query')
          .map((parameter) => ({ ...parameter, schema: resolved(parameter.schema, document) })),
        ...(body ? { body: resolved(body, document) } : {}),
      };
    }),
  );
}

/** The schema without references; it must not contain itself. */
function resolved(schema: JsonSchema, document: OpenApiDocument): JsonSchema {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  if (name !== undefined) return resolved(document.components.schemas[name] as JsonSchema, document);
  return {
    ...schema,
    ...(schema.items ? { items: resolved(schema.items, document) } : {}),
    ...(schema.oneOf ? { oneOf: schema.oneOf.map((option) => resolved(option, document)) } : {}),
    ...(schema.properties
      ? {
          properties: Object.fromEntries(
            Object.entries(schema.properties).map(([key, member]) => [key, resolved(member, document)]),
          ),
        }
      : {}),
  };
}
