import { Readable } from 'node:stream';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Caller, Role } from '../core/access.js';
import { HubError } from '../core/errors.js';
import type { AuditEntry } from '../core/ports/audit.js';
import { NO_TRACING } from '../core/ports/tracing.js';
import { AuthenticatorChain } from '../engine/accounts/authenticator-chain.js';
import { type AppOptions, createApp } from './app.js';
import { Admission } from './requests/admission.js';
import { guardWith } from './requests/guard.js';
import { readJson } from './requests/parsing/body.js';
import { type Endpoint, endpoint } from './routing/endpoint.js';
import { trustedProxies } from './wire/client.js';

const CANCEL = '/api/2.0/workbench/task/{id}/cancel';

const responses = { 200: { description: 'Done.' } };
const endpoints: Endpoint[] = [
  endpoint(
    {
      method: 'delete',
      path: CANCEL,
      operationId: 'cancelTask',
      tag: 'Tasks',
      summary: 'S',
      description: 'D',
      params: z.object({ id: z.string() }),
      responses,
    },
    ({ params, context }) => {
      if (params.id === 'ended') throw new HubError('TASK_NOT_CANCELABLE', 'task ended has ended');
      if (params.id === 'defect') throw new Error('secret internals');
      return context.body(null, 204);
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/2.0/workbench/task/list',
      operationId: 'listTasks',
      tag: 'Tasks',
      summary: 'S',
      description: 'D',
      responses,
    },
    ({ context }) => context.json({}),
  ),
  endpoint(
    {
      method: 'post',
      path: '/api/2.0/auth/login',
      operationId: 'logIn',
      tag: 'Log-in',
      summary: 'S',
      description: 'D',
      body: z.object({ username: z.string(), password: z.string() }),
      responses,
    },
    ({ body: { username, password }, audit, context }) => {
      audit.user = username;
      if (password !== 'right') throw new HubError('UNAUTHENTICATED', 'wrong username or password');
      audit.by = 'PASSWORD';
      return context.json({});
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/2.0/auth/logout',
      operationId: 'logOut',
      tag: 'Log-in',
      summary: 'S',
      description: 'D',
      responses,
    },
    ({ context }) => context.body(null, 200),
  ),
];

/** Accepts any token such as `anna-USER`. */
const authenticators = new AuthenticatorChain([
  {
    recognizes: (token) => token.includes('-'),
    identify: async (token): Promise<Caller> => {
      const [username = '', role] = token.split('-');
      return { username, roles: [role as Role], by: 'SESSION' };
    },
  },
]);

let recorded: AuditEntry[];
let app: ReturnType<typeof createApp>;
beforeEach(() => {
  recorded = [];
  app = createApp({
    endpoints,
    openApiDocument: () => ({}),
    agents: { updates: { offer: null, publicKeys: [] } } as unknown as AppOptions['agents'],
    readBody: (context, _, permit) => readJson(context, { bytes: 100_000, setBy: 'the test' }, permit),
    admission: new Admission({ requests: 100, openRequests: 100, bodiesInMemory: 1_000_000 }),
    site: null,
    loopbackOnly: false,
    origins: { publicUrl: null, allowed: new Set() },
    guard: guardWith(authenticators),
    metrics: { ofRoute: () => ({ answered: () => undefined }) },
    tracing: NO_TRACING,
    audit: { record: (taken) => recorded.push(taken) },
    trustedProxies: trustedProxies(['10.0.0.1']),
    hold: () => ({ add: () => undefined, release: () => undefined, abandon: () => undefined }),
    runtime: manualRuntime(),
    log: { error: () => undefined } as unknown as Logger,
  });
});

async function call(method: string, target: string, { as, body }: { as?: string; body?: string } = {}) {
  const headers = {
    'x-forwarded-for': '192.0.2.7',
    ...(as === undefined ? {} : { authorization: `Bearer ${as}` }),
  };
  const incoming = Object.assign(Readable.from(body === undefined ? [] : [Buffer.from(body)]), {
    headers,
    socket: { remoteAddress: '10.0.0.1' },
    url: target,
  });
  const init = { method, headers, ...(body === undefined ? {} : { body }) };
  const { status } = await app.request(`http://hub${target}`, init, { incoming });
  return status;
}

const cancel = (id: string) => CANCEL.replace('{id}', id);

describe('the audit of requests', () => {
  it('records a change with user, address, resource and outcome', async () => {
    expect(await call('DELETE', `${cancel('a%0Ab')}?force=true&token=secret`, { as: 'anna-USER' })).toBe(204);
    expect(recorded).toEqual([
      {
        atMs: Date.UTC(2026, 10, 21),
        user: 'anna',
        by: 'SESSION',
        address: '192.0.2.7',
        action: `DELETE ${CANCEL}`,
        resource: cancel('a%0Ab'),
        outcome: 'ALLOWED',
        status: 204,
        detail: null,
      },
    ]);
  });

  it('records a failed change without internal details', async () => {
    expect(await call('DELETE', cancel('ended'), { as: 'anna-USER' })).toBe(409);
    expect(await call('DELETE', cancel('defect'), { as: 'anna-USER' })).toBe(500);
    expect(recorded).toMatchObject([
      { outcome: 'FAILED', status: 409, detail: 'TASK_NOT_CANCELABLE: task ended has ended' },
      { outcome: 'FAILED', status: 500, detail: 'unexpected error; see the log of the hub' },
    ]);
  });

  it('accepts at most 16 KiB from an unidentified client', async () => {
    const body = JSON.stringify({ username: 'anna', password: 'x'.repeat(20_000) });
    expect(await call('POST', '/api/2.0/auth/login', { body })).toBe(413);
    expect(recorded).toMatchObject([{ status: 413, detail: expect.stringMatching(/^BODY_TOO_LARGE/) }]);
  });

  it('records every refusal, also of reading requests', async () => {
    expect(await call('GET', '/api/2.0/workbench/task/list')).toBe(401);
    expect(await call('DELETE', cancel('1'), { as: 'vera-VIEWER' })).toBe(403);
    expect(recorded).toMatchObject(
      [
        { user: null, by: null, outcome: 'REFUSED', status: 401, action: 'GET /api/2.0/workbench/task/list' },
        {
          user: 'vera',
          by: 'SESSION',
          outcome: 'REFUSED',
          status: 403,
          detail: /^FORBIDDEN: this requires the role USER/,
        },
      ].map(({ detail, ...entry }) => (detail ? { ...entry, detail: expect.stringMatching(detail) } : entry)),
    );
  });

  it('does not record reading requests or unmatched paths', async () => {
    expect(await call('GET', '/api/2.0/workbench/task/list', { as: 'vera-VIEWER' })).toBe(200);
    expect(await call('HEAD', '/api/2.0/workbench/task/list', { as: 'vera-VIEWER' })).toBe(200);
    expect(await call('POST', '/nowhere')).toBe(404);
    expect(await call('POST', '/api/2.0/workbench/task/list')).toBe(405);
    expect(recorded).toEqual([]);
  });

  it('records login and logout with the details of the endpoint, and never quotes a body', async () => {
    const login = (body: string) => call('POST', '/api/2.0/auth/login', { body });
    expect(await login('{"username":"anna","password":"right"}')).toBe(200);
    expect(await login('{"username":"anna","password":"hunter2-"}')).toBe(401);
    expect(await login('hunter2-')).toBe(400);
    expect(await login('{"username":7,"password":"hunter2-"}')).toBe(400);
    expect(await call('GET', '/api/2.0/auth/logout')).toBe(200);
    expect(recorded).toMatchObject([
      { user: 'anna', by: 'PASSWORD', outcome: 'ALLOWED' },
      { user: 'anna', by: null, outcome: 'REFUSED', detail: 'UNAUTHENTICATED: wrong username or password' },
      { user: null, outcome: 'FAILED', detail: 'INVALID_INPUT' },
      { user: null, outcome: 'FAILED', detail: 'INVALID_INPUT' },
      { action: 'GET /api/2.0/auth/logout', outcome: 'ALLOWED' },
    ]);
    expect(JSON.stringify(recorded)).not.toContain('hunter2');
  });
});
