/** Security of each operation in /openapi.json: id, requirements, role and address on this hub. */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { type HubSetup, type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { EXPECTED_ROLES, type ExpectedAccess } from '../support/interface/expected-roles.js';
import type { OpenApiDocument } from '../support/interface/openapi-document.js';
import { lintProblems } from '../support/interface/openapi-lint.js';
import { type Operation, operationsIn } from '../support/interface/openapi-operations.js';

interface Described extends OpenApiDocument {
  readonly info: { readonly description: string; readonly license: object };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly components: OpenApiDocument['components'] & { readonly securitySchemes: object };
}

const documentOf = async (hub: RunningHub) => (await new Api(hub).document()) as Described;

async function documentWith(setup: HubSetup): Promise<Described> {
  const hub = await startHub(setup);
  onTestFinished(() => hub.stop());
  return documentOf(hub);
}

const BEARER = { type: 'http', scheme: 'bearer' };
const COOKIE = { type: 'apiKey', in: 'cookie', name: 'refreshToken' };
const NEED_COOKIE = ['/api/2.0/auth/refresh', '/api/2.0/auth/logout'];

const ROLE_SENTENCES: Readonly<Record<ExpectedAccess, RegExp>> = {
  OPEN: /Needs no access token\.$/,
  VIEWER: /Requires the role VIEWER or a higher one\.$/,
  USER: /Requires the role USER or a higher one\.$/,
  ADMIN: /Requires the role ADMIN\.$/,
};

/** Also readable with a token that has no role. */
const METRICS = '/actuator/prometheus';
const METRICS_SENTENCE = /Requires the role ADMIN, or a personal access token with the role METRICS\.$/;

hubForAllTests({ users: USERS });

let document: Described;
let operations: Operation[];
beforeAll(async () => {
  document = await documentOf(hub);
  operations = operationsIn(document);
});

describe('the operations', () => {
  it('have unique ids, which end in the version for 1.x only', () => {
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(operations.length);
    for (const { path, operationId } of operations) {
      const version = /^\/api\/1\.(\d)\//.exec(path)?.[1];
      expect(operationId).toMatch(version ? new RegExp(`^[a-z][A-Za-z]+V1${version}$`) : /^[a-z][A-Za-z]+$/);
    }
  });

  it('have the same id in 1.x as in 2.x where they do the same', () => {
    const path = (id: string) => operations.find(({ operationId }) => operationId === id)?.path;
    expect(path('createBatchJob')).toBe('/api/2.0/workbench/task/execute-batch-job/create');
    expect(path('createBatchJobV11')).toBe('/api/1.1/workbench/task/execute-batch-job/create');
    expect(path('createBatchJobV10')).toBe('/api/1.0/workbench/task/execute-batch-job/create');
    const others = operations.map(({ operationId }) => operationId);
    const only1x = others.filter((id) => /V1\d$/.test(id) && !others.includes(id.slice(0, -3)));
    expect([...new Set(only1x.map((id) => id.slice(0, -3)))].sort()).toEqual([
      'getServer',
      'listRunningTasks',
      'listServers',
      'listWaitingTasks',
    ]);
  });

  it('have a summary, a description in sentences, and a described tag', () => {
    const described = new Map(document.tags.map(({ name, description }) => [name, description]));
    for (const { operationId, summary, description, tags } of operations) {
      expect(summary, operationId).toMatch(/^[A-Z].*[^.]$/);
      expect(description.split('\n\n')[0], operationId).toMatch(/^[A-Z].{20,}\.$/s);
      expect(tags, operationId).toHaveLength(1);
      expect(described.get(tags[0] ?? ''), operationId).toMatch(/^[A-Z].{20,}\.$/);
    }
  });
});

describe('with security on', () => {
  it.each(EXPECTED_ROLES)('$method $path has its security and its role', ({ method, path, access }) => {
    const operation = operations.find((each) => each.method === method && each.path === path);
    const [scheme] = NEED_COOKIE.includes(path) ? ['refreshCookie'] : access === 'OPEN' ? [] : ['bearer'];
    expect(operation?.security).toEqual(scheme ? [{ [scheme]: [] }] : []);
    const sentence = path === METRICS ? METRICS_SENTENCE : ROLE_SENTENCES[access];
    expect(operation?.description).toMatch(sentence);
  });

  it('the document defines bearer tokens and the refresh cookie', () => {
    expect(document.components.securitySchemes).toMatchObject({ bearer: BEARER, refreshCookie: COOKIE });
    expect(document.info.description).toMatch(/Most operations need an access token and a role\./);
  });

  it('the lint rules find nothing in the document', async () => {
    expect(await lintProblems(document)).toEqual([]);
  });
});

it('with security off, only refresh and logout require something: their cookie', async () => {
  const open = await documentWith({});
  const demanding = operationsIn(open).filter(({ security }) => security.length > 0);
  expect(demanding.map(({ path, security }) => [path, security])).toEqual(
    NEED_COOKIE.map((path) => [path, [{ refreshCookie: [] }]]),
  );
  expect(open.components.securitySchemes).toEqual({ refreshCookie: expect.objectContaining(COOKIE) });
  expect(open.info.description).toMatch(/Security is off on this hub/);
  const endpoints = operationsIn(open).filter(({ path }) => path !== '/openapi.json');
  for (const { description } of endpoints) {
    for (const sentence of Object.values(ROLE_SENTENCES)) expect(description).not.toMatch(sentence);
  }
});

it('apart from security, the document is the same with security on and off', async () => {
  const neutral = (each: Described) =>
    JSON.stringify({ paths: each.paths, schemas: each.components.schemas }, (key, value) =>
      key === 'security' || key === 'description' ? undefined : value,
    );
  expect(neutral(await documentWith({}))).toBe(neutral(document));
});

describe('the address in the document', () => {
  it('is the root of the server that the document came from', () => {
    expect(document.servers).toMatchObject([{ url: '/' }]);
  });

  it('is first server.publicUrl where it is configured', async () => {
    const { servers } = await documentWith({ config: { server: { publicUrl: 'https://hub.example.org/' } } });
    expect(servers).toMatchObject([{ url: 'https://hub.example.org' }, { url: '/' }]);
  });
});
