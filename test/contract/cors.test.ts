/** Access of pages of other origins: none, unless the configuration names them. */
import { hubConfigSchema } from '@workbench-hub/hub/config';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { rawSender } from '../support/interface/raw-request.js';

const CONSOLE = 'https://console.example.org';
const LIST = '/api/2.0/workbench/task/list';
const REFRESH = '/api/2.0/auth/refresh';

interface Described {
  readonly responses?: Readonly<Record<string, { readonly headers?: object }>>;
}

function corsHeaders(headers: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')));
}

describe('a hub with a configured origin', () => {
  let hub: RunningHub;
  let sender: ReturnType<typeof rawSender>;
  beforeAll(async () => {
    hub = await startHub({ config: { security: { corsOrigins: [CONSOLE] } } });
    sender = rawSender(hub.address);
  });
  afterAll(async () => {
    sender.close();
    await hub.stop();
  });

  const preflight = (origin: string, target: string) =>
    sender.send({
      method: 'OPTIONS',
      target,
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization',
      },
    });

  it('answers a preflight request without a token', async () => {
    const { status, headers, text } = await preflight(CONSOLE, LIST);
    expect([status, text]).toEqual([204, '']);
    expect(corsHeaders(headers)).toEqual({
      'access-control-allow-origin': CONSOLE,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers':
        'Authorization, Content-Type, Range, If-Range, If-None-Match, Last-Event-ID, Idempotency-Key, Tus-Resumable, ' +
        'Upload-Length, Upload-Metadata, Upload-Offset',
      'access-control-expose-headers':
        'Allow, Retry-After, WWW-Authenticate, Content-Disposition, Content-Range, ETag, Location, X-Request-Id, X-Error-Code, Warning, ' +
        'Idempotency-Replayed, Log-Offset, Log-Next-Offset, ' +
        'Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size, Upload-Length, Upload-Metadata, Upload-Offset, Upload-Expires',
      'access-control-max-age': '600',
    });
    expect(headers['vary']).toBe('Origin');
  });

  it('lets its pages read every header that the interface describes', async () => {
    const { headers, text } = await sender.send({
      method: 'GET',
      target: '/openapi.json',
      headers: { origin: CONSOLE },
    });
    const exposed = `${headers['access-control-expose-headers']}`.split(', ');
    const operations = Object.values(
      (JSON.parse(text) as { paths: Record<string, Record<string, Described>> }).paths,
    ).flatMap((path) => Object.values(path));
    const described = operations.flatMap(({ responses = {} }) =>
      Object.values(responses).flatMap((response) => Object.keys(response.headers ?? {})),
    );
    expect(described).toContain('Idempotency-Replayed');
    expect(exposed).toEqual(expect.arrayContaining(described));
  });

  it('lets no page use the endpoints of agents', async () => {
    const { status, headers } = await preflight(CONSOLE, `/agent/files/${'a'.repeat(64)}`);
    expect([status, corsHeaders(headers)]).toEqual([401, {}]);
  });

  it('lets its pages read responses: successes, errors and deferred ones', async () => {
    const created = await sender.send({
      method: 'POST',
      target: '/api/2.0/workbench/task/simulate-work/create',
      body: '{"duration":0}',
    });
    const { id } = JSON.parse(created.text) as { id: string };
    const later = `/api/2.0/workbench/task/simulate-work/${id}/result?timeout=1`;
    for (const [target, status] of [
      [LIST, 200],
      ['/api/2.0/workbench/task/nobody', 404],
      ['/nowhere', 404],
      [later, 200],
    ] as const) {
      const answer = await sender.send({ method: 'GET', target, headers: { origin: CONSOLE } });
      expect(answer.status).toBe(status);
      expect(answer.headers['access-control-allow-origin']).toBe(CONSOLE);
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    }
  });

  it('lets its pages send the cookie where one is used', async () => {
    const { headers } = await preflight(CONSOLE, REFRESH);
    expect(headers['access-control-allow-credentials']).toBe('true');
  });

  it.each(['https://evil.example', 'http://console.example.org', 'null', `${CONSOLE}.evil.example`])(
    'sends no CORS headers to a page of %s',
    async (origin) => {
      const asked = await preflight(origin, LIST);
      expect([asked.status, corsHeaders(asked.headers)]).toEqual([405, {}]);
      const { headers } = await sender.send({ method: 'GET', target: LIST, headers: { origin } });
      expect(corsHeaders(headers)).toEqual({});
      // A shared cache must not give it to a page that may read it, nor the other way round.
      expect([asked.headers['vary'], headers['vary']]).toEqual(['Origin', 'Origin']);
    },
  );
});

describe('a hub without a configured origin', () => {
  it('sends no CORS headers', async () => {
    const hub = await startHub();
    const sender = rawSender(hub.address);
    try {
      const headers = { origin: CONSOLE, 'access-control-request-method': 'GET' };
      for (const target of [LIST, '/openapi.json']) {
        const asked = await sender.send({ method: 'OPTIONS', target, headers });
        expect([asked.status, corsHeaders(asked.headers)]).toEqual([405, {}]);
        const answer = await sender.send({ method: 'GET', target, headers });
        expect([answer.status, corsHeaders(answer.headers)]).toEqual([200, {}]);
      }
    } finally {
      sender.close();
      await hub.stop();
    }
  });

  it.each([
    '*',
    'console.example.org',
    'https://console.example.org/',
    'https://a.example/path',
    'file://',
    'null',
    '',
  ])('refuses to be configured with the origin %j', (origin) => {
    const { error } = hubConfigSchema.safeParse({ security: { corsOrigins: [origin] } });
    expect(error?.issues).toMatchObject([
      { path: ['security', 'corsOrigins', 0], message: expect.stringMatching(/^an origin such as/) },
    ]);
  });
});
