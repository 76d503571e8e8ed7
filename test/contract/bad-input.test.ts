/** Invalid parameters and fields of every endpoint: a 400 names them (contract 1.6, 5.2 and 10.3). */
import { describe, expect, it } from 'vitest';
import { api, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { startHub } from '../support/hubs/running-hub.js';
import { Api, expectError } from '../support/interface/api.js';
import { badRequestsOf, leastOf } from '../support/interface/bad-requests.js';
import { type Form, filePart, formOf, formWithFile } from '../support/interface/forms.js';
import { type Operation, operationsIn } from '../support/interface/openapi-operations.js';

const UNKNOWN_ID = '019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77';

/** Tests are generated from the document, so it must exist before them. */
const operations = await operationsOfThisHub();

hubForAllTests();

async function operationsOfThisHub(): Promise<Operation[]> {
  const own = await startHub();
  const document = await new Api(own).document();
  await own.stop();
  return operationsIn(document);
}

function pathOf({ path, parameters }: Operation, values: Readonly<Record<string, string>> = {}): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const schema = parameters.find((parameter) => parameter.name === name)?.schema;
    return values[name] ?? schema?.enum?.[0] ?? UNKNOWN_ID;
  });
}

/** Headers without which endpoints of resumable uploads look at nothing else. */
const TUS = {
  'tus-resumable': '1.0.0',
  'content-type': 'application/offset+octet-stream',
  'upload-offset': '0',
  'upload-length': '1',
  'upload-metadata': 'filename bmV3LmZpbGU=',
};
const headersOf = ({ path, method }: Operation) =>
  path.startsWith('/api/x/storage/input/uploads') && method !== 'GET' ? { headers: TUS } : {};

/** A form that the endpoint takes. */
function formFor({ path }: Operation): Form {
  if (path !== '/api/x/tasks/form') return formWithFile('any.file', 'content');
  const script = 'Content-Disposition: form-data; name="script"; filename="run.js"';
  return formOf([{ head: script, content: '1' }, filePart('; filename="any.file"', 'content')]);
}

const named = operations.map((operation) => ({
  ...operation,
  name: `${operation.method} ${operation.path}`,
}));
const withInput = named
  .map((operation) => ({ ...operation, bad: badRequestsOf(operation) }))
  .filter(({ bad }) => bad.length > 0);

it('finds the parameters and fields of the endpoints', () => {
  const fields = withInput.flatMap(({ bad, name }) => bad.map(({ field }) => `${name} ${field}`));
  expect(new Set(fields)).toEqual(
    new Set([
      ...fields,
      'GET /api/2.0/workbench/task/list status',
      'GET /api/1.0/workbench/node/server/list size',
      'GET /api/2.0/workbench/node/instance/{id}/log/{type} type',
      'DELETE /api/2.0/workbench/task/{id}/cancel force',
      'POST /api/1.1/workbench/task/execute-batch-job/create inputModelReference.parameters[0].key',
      'POST /api/x/explain classifiers[0].type',
      'POST /api/2.0/admin/prepare-shutdown/change initiated',
    ]),
  );
});

describe.each(withInput)('$name refuses', (operation) => {
  const fields = [...new Set(operation.bad.map(({ field }) => field))];

  it.each(fields)('%s with any bad value', async (field) => {
    const requests = operation.bad.filter((request) => request.field === field);
    for (const { fault, query, pathValues, json } of requests) {
      const path = pathOf(operation, pathValues);
      const body = operation.body && json === undefined ? { json: leastOf(operation.body) } : { json };
      const answer = await api.call(
        operation.method,
        query === undefined ? path : `${path}?${query}`,
        operation.body ? body : {},
      );
      const place = field.replaceAll(/[[\].]/g, '\\$&');
      expect(answer.status, `${field} ${fault}: ${answer.text}`).toBe(400);
      expectError(answer, 400, path, new RegExp(`(?:^|; )${place}(?:\\[\\d+\\])?: [a-z]`));
    }
  });
});

describe.each(named.filter(({ body }) => body))('$name refuses', (operation) => {
  it.each([
    ['no body', undefined, /^body: is required, as JSON$/],
    ['an empty body', '', /^body: is required, as JSON$/],
    ['half of a body', '{"a":', /^body: is not JSON: /],
    ['a form', 'a=1&b=2', /^body: is not JSON: /],
    ['a body that is not UTF-8', Uint8Array.of(0x22, 0xff, 0x22), /^body: is not JSON: /],
    ['JSON in UTF-16', Buffer.from('{}', 'utf16le'), /^body: is not JSON: /],
  ])('%s', async (_, raw, message) => {
    const answer = await api.call(operation.method, pathOf(operation), raw === undefined ? {} : { raw });
    expectError(answer, 400, pathOf(operation), message);
  });
});

describe.each(named.filter(({ path }) => path.includes('{id}')))('$name', (operation) => {
  it.each([
    UNKNOWN_ID,
    'x',
    '%00',
    '%20',
    '%25',
    '%2e%2e%2f',
    '%F0%9F%94%A7',
    '%ff',
    '%zz',
    "'%20OR%201=1--",
    'x'.repeat(4000),
  ])('answers an unknown id with 404: %s', async (id) => {
    const path = pathOf(operation, { id });
    const answer = await api.call(operation.method, path, {
      ...headersOf(operation),
      ...(operation.body ? { json: leastOf(operation.body) } : {}),
    });
    expectError(
      answer,
      404,
      path,
      /^there is no (?:(?:task|study|invalidation|instance|agent|personal access token) (?:of type \w+ )?with the id "|such upload of yours, or)/,
    );
  });
});

describe.each(named)('$name', (operation) => {
  it('ignores unknown parameters', async () => {
    const answer = await api.call(
      operation.method,
      `${pathOf(operation)}?color=red&color=blue&%ff=%ff&=&&a[]=1`,
      {
        ...(operation.body ? { json: leastOf(operation.body) } : {}),
        ...headersOf(operation),
        ...(operation.takesForm ? formFor(operation) : {}),
      },
    );
    expect(answer.status, answer.text).toBeLessThan(limitOf(operation));
  });
});

/** Status below that of any answer to the least request. Refusals are in order: without the cookie the caller is unknown, without a user
 *  there is no token and nobody to administer, there is no task to make invalid, without a provider no log-in by the sign-on, the least study has no points, no
 *  rollout is configured, and nothing has this id. */
function limitOf({ method, path, needsCookie }: Operation): number {
  const name = `${method} ${path}`;
  if (needsCookie || name === 'POST /api/x/studies') return 402;
  if (name === 'POST /api/x/invalidations') return 405;
  if (path.startsWith('/api/x/rollout/')) return 410;
  if (name === 'POST /api/x/tokens' || path === '/api/x/users') return 404;
  return path.includes('{') || path.startsWith('/api/x/sign-on/') ? 405 : 300;
}
