/** Agreement of the tables of the contract, openapi.json and the routes (contract 11.2 and 11.3 for 1.0 and 1.1). */
import { beforeAll, describe, expect, it } from 'vitest';
import { api, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { expectError } from '../support/interface/api.js';
import { operationsOf } from '../support/interface/exercised.js';
import type { OpenApiDocument } from '../support/interface/openapi-document.js';
import { operationsIn } from '../support/interface/openapi-operations.js';
import {
  ADDITIONS,
  ANY_ENDPOINT,
  SPECIFIED_2X,
  SPECIFIED_10,
  SPECIFIED_11,
} from '../support/interface/specified-endpoints.js';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** 1.0 has health and info in common with 2.x. */
const THERE = [
  ...SPECIFIED_2X,
  ...SPECIFIED_10.filter(({ path }) => !path.startsWith('/actuator')),
  ...SPECIFIED_11,
  ...ADDITIONS,
];
/** A page for people, which the document does not describe. */
const PAGES = ['/docs', '/docs/start.js', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js'];

hubForAllTests();

let document: OpenApiDocument;
beforeAll(async () => {
  document = await api.document();
});

it('the tables are complete: 32 endpoints of 2.x, 18 of 1.0, 12 of 1.1', () => {
  expect([SPECIFIED_2X.length, SPECIFIED_10.length, SPECIFIED_11.length]).toEqual([32, 18, 12]);
});

describe('the document', () => {
  it.each(THERE)('describes $method $path with its statuses', ({ method, path, statuses }) => {
    const operation = document.paths[path]?.[method.toLowerCase()];
    const described = Object.keys(operation?.responses ?? {}).map(Number);
    const expected = [...statuses, ...(path === '/openapi.json' ? [] : ANY_ENDPOINT)];
    expect(described).toEqual(expect.arrayContaining(expected));
  });

  it('has no other operation', () => {
    const known = new Set(THERE.map(({ method, path }) => `${method} ${path}`));
    expect(operationsOf(document).filter((operation) => !known.has(operation))).toEqual([]);
  });

  it('has the error body of every error, a description of every response, and a summary of every operation', () => {
    for (const { method, path, summary, responses } of operationsIn(document)) {
      expect(summary, `${method} ${path}`).toMatch(/^[A-Z].{5,}/);
      for (const [status, { description, content }] of Object.entries(responses)) {
        expect(description, `${method} ${path} ${status}`).toMatch(/.{5,}/);
        const isHealth = ['/actuator/health', '/readyz'].includes(path) && status === '503';
        if (Number(status) < 400 || isHealth) continue;
        expect(content, `${method} ${path} ${status}`).toEqual({
          'application/json': { schema: { $ref: '#/components/schemas/Error' } },
        });
      }
    }
  });

  it('describes the location and type of every parameter', () => {
    for (const { method, path, parameters } of operationsIn(document)) {
      const names = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
      expect(names, `${method} ${path}`).toEqual(path.match(/\{\w+\}/g) ?? []);
      for (const { schema, name } of parameters) expect(schema.type, `${path} ${name}`).toBeTypeOf('string');
    }
  });
});

describe('the routes', () => {
  const url = (path: string) => path.replaceAll(/\{\w+\}/g, 'console');

  it.each(THERE)('answer $method $path', async ({ method, path }) => {
    const { status, text } = await api.call(method, url(path), method === 'POST' ? { raw: 'x' } : {});
    const reached = status !== 405 && !/there is nothing at this path/.test(text);
    expect(reached, `${status} ${text}`).toBe(true);
  });

  it.each([...new Set(THERE.map(({ path }) => path))])(
    'answer other methods of %s with 405 and Allow',
    async (path) => {
      const allowed = THERE.filter((endpoint) => endpoint.path === path).map(({ method }) => method);
      for (const method of METHODS.filter((other) => !allowed.includes(other))) {
        const answer = await api.call(method, url(path), method === 'GET' ? {} : { raw: '{}' });
        // For paths like GET task/list/..., the endpoint of another path with a parameter responds.
        if (THERE.some((other) => other.method === method && matches(other.path, url(path)))) continue;
        expectError(answer, 405, url(path), `${method} is not allowed here, only ${allowed.join(', ')}`);
        expect(answer.headers.get('allow')).toBe(allowed.join(', '));
      }
    },
  );

  it.each([
    '/assets',
    '/api',
    '/api/2.0',
    '/api/2.0/workbench/task',
    '/api/2.0/workbench/task/',
    '/api/2.0/workbench/task/list/running',
    '/api/2.0/workbench/task/list/waiting',
    '/api/2.0/workbench/node/server/list',
    '/api/2.1/workbench/task/list',
    '/api/3.0/workbench/task/list',
    '/api/1.2/workbench/task/list',
    '/api/0.9/workbench/task/list',
    '/api/x/workbench/task/list',
    '/api//workbench/task/list',
    '/API/2.0/workbench/task/list',
    '/actuator',
    '/actuator/env',
    '/actuator/health/ping',
    '/docs/..%2fpackage.json',
    '/docs/package.json',
    '/docs/index.html',
    '/agent',
    '/openapi.yaml',
  ])('answer %s with 404', async (path) => {
    for (const method of METHODS) {
      const answer = await api.call(method, path, method === 'GET' ? {} : { raw: '{}' });
      expectError(answer, 404, path, /^there is nothing at this path; \/openapi\.json lists all paths$/);
    }
  });

  it.each(PAGES)('serve the page %s for GET only', async (path) => {
    expect((await api.get(path)).status).toBe(200);
    expectError(await api.delete(path), 405, path, 'DELETE is not allowed here, only GET');
  });

  it.each(['/livez', '/actuator/info', '/api/2.0/workbench/task/list', '/openapi.json', '/docs'])(
    'answer HEAD like GET without the body: %s',
    async (path) => {
      const head = await api.call('HEAD', path);
      const get = await api.get(path);
      expect([head.status, head.text]).toEqual([200, '']);
      expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
    },
  );
});

function matches(template: string, path: string): boolean {
  return new RegExp(`^${template.replaceAll('.', '[.]').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
}
