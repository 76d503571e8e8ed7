/** Every endpoint, called without a token and by every role (contract 8.7 and 8.8). */
import { beforeAll, describe, expect, it } from 'vitest';
import { api, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { logIn } from '../support/hubs/login.js';
import { passwordOf, USERS } from '../support/hubs/running-hub.js';
import { type Answer, type Api, type CallOptions, expectError } from '../support/interface/api.js';
import { leastOf } from '../support/interface/bad-requests.js';
import { operationsOf } from '../support/interface/exercised.js';
import { EXPECTED_ROLES, type ExpectedAccess } from '../support/interface/expected-roles.js';
import type { OpenApiDocument } from '../support/interface/openapi-document.js';
import { type Operation, operationsIn } from '../support/interface/openapi-operations.js';

const NOBODY = 'nobody';
/** Callers with their roles. */
const CALLERS: Readonly<Record<string, readonly ExpectedAccess[]>> = {
  [NOBODY]: ['OPEN'],
  vera: ['OPEN', 'VIEWER'],
  ulla: ['OPEN', 'VIEWER', 'USER'],
  anna: ['OPEN', 'VIEWER', 'USER', 'ADMIN'],
};
const UNKNOWN_ID = '019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77';

type Outcome = 'let in' | 401 | 403;

function expectedFor(caller: string, access: ExpectedAccess): Outcome {
  if (CALLERS[caller]?.includes(access)) return 'let in';
  return caller === NOBODY ? 401 : 403;
}

function count(outcome: Outcome): number {
  return Object.keys(CALLERS).flatMap((caller) =>
    EXPECTED_ROLES.filter(({ access }) => expectedFor(caller, access) === outcome),
  ).length;
}

hubForAllTests({ users: USERS });

let document: OpenApiDocument;
let operations: Operation[];
const callers = new Map<string, Api>();
beforeAll(async () => {
  document = await api.document();
  operations = operationsIn(document);
  for (const caller of Object.keys(CALLERS)) {
    callers.set(caller, caller === NOBODY ? api : await api.asUser(caller));
  }
});

it('the table of roles has every endpoint of the hub, and no other', () => {
  const inTable = EXPECTED_ROLES.map(({ method, path }) => `${method} ${path}`);
  expect(new Set(inTable).size).toBe(inTable.length);
  expect(inTable.sort()).toEqual(operationsOf(document).sort());
});

/** The best request that can be generated from the document; a caller with the role is not refused. */
async function callOf(operation: Operation): Promise<{ path: string; options: CallOptions }> {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const schema = operation.parameters.find((parameter) => parameter.name === name)?.schema;
    return schema?.enum?.[0] ?? UNKNOWN_ID;
  });
  if (path.endsWith('/login')) {
    return { path, options: { json: { username: 'vera', password: passwordOf('vera') } } };
  }
  if (operation.needsCookie) {
    return { path, options: { headers: { cookie: (await logIn(api, 'vera')).cookie } } };
  }
  return { path, options: operation.body ? { json: leastOf(operation.body) } : {} };
}

function outcomeOf({ status }: Answer): Outcome {
  return status === 401 || status === 403 ? status : 'let in';
}

const callsInAll = `${EXPECTED_ROLES.length} endpoints, ${Object.keys(CALLERS).length} callers`;
const countsInAll = `${count('let in')} let in, ${count(401)} not known (401), ${count(403)} not allowed (403)`;

describe(`${callsInAll}: ${countsInAll}`, () => {
  describe.each(EXPECTED_ROLES)('$method $path ($access)', ({ method, path: template, access }) => {
    it.each(Object.keys(CALLERS))('for %s', async (caller) => {
      const operation = operations.find((known) => known.method === method && known.path === template);
      const { path, options } = await callOf(operation as Operation);
      const answer = await (callers.get(caller) as Api).call(method, path, options);
      const expected = expectedFor(caller, access);
      expect(outcomeOf(answer), answer.text).toBe(expected);
      if (expected === 'let in') expect(answer.status, answer.text).toBeLessThan(500);
      if (expected === 401) {
        expectError(answer, 401, path, /^a token is required: log in at/);
        expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      }
      if (expected === 403) {
        expectError(
          answer,
          403,
          path,
          `this requires the role ${access}; ${caller} has ${USERS_ROLE[caller]}`,
        );
        expect(answer.headers.get('www-authenticate')).toBeNull();
      }
    });
  });
});

const USERS_ROLE: Readonly<Record<string, string>> = { vera: 'VIEWER', ulla: 'USER', anna: 'ADMIN' };

describe('the check of roles', () => {
  it('is as strict for HEAD as for GET', async () => {
    for (const { method, path, access } of EXPECTED_ROLES) {
      if (method !== 'GET' || access === 'OPEN') continue;
      const concrete = path.replaceAll(/\{\w+\}/g, UNKNOWN_ID);
      expect((await api.call('HEAD', concrete)).status, path).toBe(401);
    }
  });

  it('refuses before the body is read', async () => {
    const create = '/api/2.0/workbench/task/execute-batch-job/create';
    for (const raw of ['', '{', '{"inputScripts":[]}']) {
      expect((await api.call('POST', create, { raw })).status).toBe(401);
    }
    expect((await api.get('/api/2.0/workbench/task/list?size=x')).status).toBe(401);
    expect((await (callers.get('vera') as Api).call('POST', create, { raw: '{' })).status).toBe(403);
  });

  it('cannot be bypassed by another spelling of the path', async () => {
    for (const path of [
      '//api/2.0/workbench/task/list',
      '/api/2.0/workbench/task/list/',
      '/api/2.0/workbench/./task/list',
      '/api/2.0/workbench/task/%6cist',
      '/api/2.0/workbench/task/list;a=b',
      '/livez/../api/2.0/workbench/task/list',
      '/API/2.0/workbench/task/list',
    ]) {
      expect([401, 404], path).toContain((await api.get(path)).status);
    }
  });

  it('cannot be bypassed by headers of proxies or frameworks', async () => {
    for (const [name, value] of [
      ['x-forwarded-for', '127.0.0.1'],
      ['x-forwarded-user', 'anna'],
      ['x-remote-user', 'anna'],
      ['x-http-method-override', 'GET'],
      ['x-original-url', '/livez'],
      ['x-rewrite-url', '/livez'],
      ['cookie', `accessToken=${(callers.get('anna') as Api).token}`],
      ['cookie', (await logIn(api, 'anna')).cookie],
    ] as const) {
      const answer = await api.call('GET', '/actuator/logfile', { headers: { [name]: value } });
      expect(answer.status, name).toBe(401);
    }
    const inQuery = `/actuator/logfile?access_token=${(callers.get('anna') as Api).token}`;
    expect((await api.get(inQuery)).status).toBe(401);
  });
});
