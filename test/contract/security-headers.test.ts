/** Security headers of every response, whichever part of the hub writes it. */
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';

hubForAllTests();

const EVERYWHERE = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};
const DATA = {
  ...EVERYWHERE,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

function headersOf(response: Response, like: Record<string, string>) {
  return Object.fromEntries(Object.keys(like).map((name) => [name, response.headers.get(name)]));
}

it.each([
  ['GET', '/livez', 200],
  ['HEAD', '/livez', 200],
  ['GET', '/actuator/health', 200],
  ['GET', '/actuator/logfile', 200],
  ['GET', '/openapi.json', 200],
  ['GET', '/api/2.0/workbench/task/list', 200],
  ['GET', '/api/1.0/workbench/task/list', 200],
  ['GET', '/api/2.0/workbench/task/list?page=-1', 400],
  ['GET', '/api/2.0/workbench/task/nobody', 404],
  ['GET', '/api/2.0/workbench/task/simulate-work/nobody/result?timeout=60', 404],
  ['DELETE', '/livez', 405],
  ['OPTIONS', '/api/2.0/workbench/task/list', 405],
  ['GET', '/nowhere', 404],
  ['GET', '/agent/files/x', 401],
  ['POST', '/agent/enroll', 400],
  ['GET', '/agent/enroll', 405],
])('%s %s: %i', async (method, path, status) => {
  const response = await fetch(hub.address + path, { method });
  await response.text();
  expect(response.status).toBe(status);
  expect(headersOf(response, DATA)).toEqual(DATA);
  expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  expect(response.headers.get('strict-transport-security')).toBeNull();
});

it.each(['/docs', '/docs/start.js', '/docs/swagger-ui.css'])(
  'GET %s: the documentation runs its own scripts only',
  async (path) => {
    const response = await fetch(hub.address + path);
    await response.text();
    expect(headersOf(response, EVERYWHERE)).toEqual(EVERYWHERE);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; /);
    expect(policy).toMatch(/frame-ancestors 'none'/);
  },
);

it('a deferred response', async () => {
  const created = await fetch(`${hub.address}/api/2.0/workbench/task/simulate-work/create`, {
    method: 'POST',
    body: '{"duration":0}',
  });
  const { id } = (await created.json()) as { id: string };
  expect(headersOf(created, DATA)).toEqual(DATA);
  const deferred = await fetch(`${hub.address}/api/2.0/workbench/task/simulate-work/${id}/result?timeout=1`);
  await deferred.text();
  expect(headersOf(deferred, DATA)).toEqual(DATA);
});

const UPGRADE = 'Host: hub\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n';
const OPENING = `${UPGRADE}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`;

it.each<[string, () => string, number]>([
  ['bytes that are not HTTP', () => 'hello\r\n\r\n', 400],
  ['a host that is not one', () => 'GET /livez HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400],
  ['too many headers', () => `GET / HTTP/1.1\r\nHost: hub\r\n${'X: y\r\n'.repeat(201)}\r\n`, 431],
  ['too long headers', () => `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ['a too long target', () => `GET /${'a'.repeat(9000)} HTTP/1.1\r\nHost: hub\r\n\r\n`, 414],
  ['an upgrade without a token', () => `GET /agent/connect HTTP/1.1\r\n${OPENING}\r\n`, 401],
  ['an upgrade elsewhere', () => `GET /agent/elsewhere HTTP/1.1\r\n${OPENING}\r\n`, 404],
  [
    'an upgrade without a key',
    () => `GET /agent/connect HTTP/1.1\r\n${UPGRADE}Authorization: Bearer ${hub.token}\r\n\r\n`,
    400,
  ],
  [
    'an upgrade by another method',
    () => `POST /agent/connect HTTP/1.1\r\n${OPENING}Authorization: Bearer ${hub.token}\r\n\r\n`,
    405,
  ],
])('%s, which the server itself refuses', async (_, bytes, status) => {
  const { hostname, port } = new URL(hub.address);
  const heard = await new Promise<string>((resolve) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes()));
    socket.on('data', (piece) => {
      text += piece.toString();
    });
    socket.once('close', () => resolve(text));
  });
  const [head = '', body = ''] = heard.split('\r\n\r\n');
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  for (const [name, value] of Object.entries(DATA))
    expect(head.toLowerCase()).toContain(`${name}: ${value.toLowerCase()}`);
  expect(JSON.parse(body)).toMatchObject({ status, message: expect.stringMatching(/./) });
});
