/** /openapi.json: a valid document that describes the accepted requests. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, it } from 'vitest';
import { hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { Api } from '../support/interface/api.js';
import { openApiCheck } from '../support/interface/openapi-check.js';
import type { OpenApiDocument } from '../support/interface/openapi-document.js';
import { lintProblems } from '../support/interface/openapi-lint.js';

interface Schema {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly $ref?: string;
  readonly [keyword: string]: unknown;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

const TASKS = '/api/2.0/workbench/task';

hubForAllTests();

let document: OpenApiDocument;
beforeAll(async () => {
  document = await new Api(hub).document();
});

const schema = (name: string) => document.components.schemas[name] as Schema;
/** An example of a schema: its own, or one that is made of those of its members. */
function exampleOf(each: Schema): unknown {
  if (each.$ref) return exampleOf(schema(each.$ref.split('/').at(-1) ?? ''));
  if (each['example'] !== undefined) return each['example'];
  if (each.type === 'array') return each.items ? [exampleOf(each.items)] : [];
  if (each.enum) return each.enum[0];
  if (each.type !== 'object') return undefined;
  const members = Object.entries(each.properties ?? {}).map(([key, member]) => [key, exampleOf(member)]);
  return Object.fromEntries(members);
}

const parametersOf = (path: string, method = 'get') =>
  ((document.paths[path]?.[method] ?? {}) as { parameters?: Parameter[] }).parameters ?? [];
const queryOf = (path: string, method = 'get') =>
  Object.fromEntries(
    parametersOf(path, method)
      .filter((parameter) => parameter.in === 'query')
      .map(({ name, schema: { description: _, example: __, ...shape } }) => [name, shape]),
  );

it('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  const result = await validator.validate(JSON.stringify(document, null, 1));
  expect(result).toEqual({ valid: true });
  expect(validator.version).toBe('3.1');
});

describe('the lint rules', () => {
  it('find nothing in the document', async () => {
    expect(await lintProblems(document)).toEqual([]);
  });

  it.each<[string, (text: string) => string, RegExp]>([
    [
      'a missing operation id',
      (text) => text.replace('"operationId":"listTasks",', ''),
      /^operation-operationId:/,
    ],
    [
      'an operation id that is taken',
      (text) => text.replace('"listTasks"', '"getTask"'),
      /^operation-operationId-unique:/,
    ],
    ['a missing security requirement', (text) => text.replace('"security":[],', ''), /^security-defined:/],
    ['a value of the wrong type', (text) => text.replace('"summary":"', '"summary":5,"x":"'), /^struct:/],
    [
      'a tag without description',
      (text) => text.replace(/("name":"Tasks"),"description":"[^"]*"/, '$1'),
      /^tag-description:/,
    ],
  ])('find %s', async (_, spoil, problem) => {
    const spoilt: unknown = JSON.parse(spoil(JSON.stringify(document)));
    expect(await lintProblems(spoilt)).toContainEqual(expect.stringMatching(problem));
  });
});

it('the document is served as JSON', async () => {
  const response = await fetch(`${hub.address}/openapi.json`);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.json()).toMatchObject({ openapi: '3.1.0', info: { title: 'Workbench Hub' } });
});

describe('parameters in the document', () => {
  const page = { type: 'integer', minimum: 0, default: 0 };
  const size = { type: 'integer', minimum: 1, default: 20 };
  const text = { type: 'string' };
  const anyOf = (...values: string[]) => ({ type: 'array', items: { type: 'string', enum: values } });

  it.each<[string, object]>([
    [
      `${TASKS}/list`,
      {
        page,
        size,
        id: text,
        type: { type: 'string', enum: ['SIMULATE_WORK', 'EXECUTE_BATCH_JOB'] },
        name: text,
        priority: { type: 'string', enum: ['HIGHEST', 'HIGH', 'NORMAL', 'LOW', 'LOWEST'] },
        creator: text,
        note: text,
        status: anyOf('WAITING', 'RUNNING', 'FINISHED', 'FAILED', 'CANCELED'),
      },
    ],
    [
      '/api/2.0/workbench/node/instance/list',
      {
        page,
        size,
        id: text,
        version: text,
        labels: { type: 'array', items: text },
        status: anyOf('UP', 'STARTING', 'STOPPING', 'DOWN', 'FAILED', 'UNKNOWN'),
        working: { type: 'boolean' },
      },
    ],
    [
      '/api/2.0/workbench/node/agent/list',
      { page, size, id: text, version: text, status: anyOf('UP', 'DOWN') },
    ],
    [
      `${TASKS}/simulate-work/{id}/result`,
      { timeout: { type: 'integer', minimum: 0, maximum: 86_400, default: 0 } },
    ],
    [
      `${TASKS}/execute-batch-job/{id}/result`,
      { timeout: { type: 'integer', minimum: 0, maximum: 86_400, default: 0 } },
    ],
  ])('of %s are described with their types', (path, expected) => {
    expect(queryOf(path)).toEqual(expected);
    for (const parameter of parametersOf(path)) {
      expect(parameter.required ?? false, parameter.name).toBe(parameter.in === 'path');
    }
  });

  it('of cancel include force', () => {
    expect(queryOf(`${TASKS}/{id}/cancel`, 'delete')).toEqual({ force: { type: 'boolean', default: false } });
  });
});

describe('requests in the document', () => {
  it('describe simulated work', () => {
    const { properties, required } = schema('SimulateWorkRequest');
    expect(required).toEqual(['duration']);
    expect(properties).toMatchObject({
      name: { type: 'string', maxLength: 1000 },
      classifiers: { type: 'array', items: { $ref: '#/components/schemas/Classifier' } },
      timeLimit: { type: 'integer', minimum: 1 },
      duration: { type: 'integer', minimum: 0, maximum: 2_592_000 },
    });
    expect(schema('Classifier')).toMatchObject({
      required: ['type', 'value'],
      properties: {
        type: { type: 'string', enum: ['VERSION', 'PRIORITY', 'LABLES'] },
        value: { type: 'string' },
      },
    });
  });

  it('describe batch jobs down to the last field', () => {
    const { properties, required } = schema('ExecuteBatchJobRequest');
    expect(required).toEqual(['inputScripts']);
    const content = { type: 'string', format: 'byte' };
    const pair = { type: 'object', required: ['key', 'value'] };
    expect(properties).toMatchObject({
      inputModel: { type: 'object', required: ['type', 'content'], properties: { content } },
      inputModelReference: {
        type: 'object',
        required: ['type', 'parameters'],
        properties: {
          type: { type: 'string', enum: ['LOCAL_FILESYSTEM', 'INPUT_STORAGE'] },
          parameters: { type: 'array', items: pair },
        },
      },
      inputScripts: { type: 'array', minItems: 1, items: { required: ['content'], properties: { content } } },
      additionalFiles: {
        type: 'array',
        items: {
          required: ['filename'],
          properties: { filename: { type: 'string' }, content, storageName: { type: 'string' } },
        },
      },
      variablesToInject: { type: 'array', items: pair },
    });
  });

  it('have examples that the hub accepts', async () => {
    const api = new Api(hub);
    const request = exampleOf(schema('SimulateWorkRequest'));
    expect(request).toMatchObject({ duration: expect.any(Number), name: expect.any(String) });
    expect((await api.post(`${TASKS}/simulate-work/create`, request)).status).toBe(201);
  });
});

describe('the check of responses against the document', () => {
  const answer = {
    method: 'GET',
    path: '/livez',
    status: 200,
    contentType: 'application/json',
    text: '{"status":"UP"}',
  };
  const fault = (rest: Partial<typeof answer>) => () => openApiCheck(document)({ ...answer, ...rest });

  it('accepts responses that fit the document', () => {
    expect(fault({})).not.toThrow();
    expect(fault({ path: '/unknown', status: 404, text: '{}' })).not.toThrow();
  });

  it.each<[string, Partial<typeof answer>, RegExp]>([
    ['an unknown status', { status: 418 }, /answered 418, of which the document knows nothing/],
    ['a value that is none', { text: '{"status":"SO SO"}' }, /the body\/status must be equal to one of/],
    ['a missing field', { text: '{}' }, /must have required property 'status'/],
    ['a field too many', { text: '{"status":"UP","since":5}' }, /must NOT have additional properties/],
    ['another content type', { contentType: 'text/html' }, /as text\/html, not application\/json/],
    [
      'a body where there is none',
      { method: 'DELETE', path: `${TASKS}/1/cancel`, status: 204, text: 'x' },
      /with a body, of which the document knows nothing/,
    ],
  ])('finds %s', (_, rest, message) => {
    expect(fault(rest)).toThrow(message);
  });
});
