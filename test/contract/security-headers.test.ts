/** What browsers are told about every answer, whoever gives it. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningHub, startHub } from '../support/running-hub.js';

let hub: RunningHub;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub.stop());

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
])('%s %s: %i', async (method, path, status) => {
  const response = await fetch(hub.address + path, { method });
  await response.text();
  expect(response.status).toBe(status);
  expect(headersOf(response, DATA)).toEqual(DATA);
  expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  expect(response.headers.get('strict-transport-security')).toBeNull();
});

it.each(['/docs', '/docs/start.js', '/docs/swagger-ui.css'])(
  'GET %s is a page that runs only its own scripts',
  async (path) => {
    const response = await fetch(hub.address + path);
    await response.text();
    expect(headersOf(response, EVERYWHERE)).toEqual(EVERYWHERE);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; /);
    expect(policy).toMatch(/frame-ancestors 'none'/);
  },
);

it('a deferred response has the security headers', async () => {
  const created = await fetch(`${hub.address}/api/2.0/workbench/task/simulate-work/create`, {
    method: 'POST',
    body: '{"duration":0}',
  });
  const { id } = (await created.json()) as { id: string };
  expect(headersOf(created, DATA)).toEqual(DATA);
  const later = await fetch(`${hub.address}/api/2.0/workbench/task/simulate-work/${id}/result?timeout=1`);
  await later.text();
  expect(headersOf(later, DATA)).toEqual(DATA);
});

it('the response to a malformed request has the security headers', async () => {
  const { hostname, port } = new URL(hub.address);
  const heard = await new Promise<string>((resolve) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.write('hello\r\n\r\n'));
    socket.on('data', (piece) => {
      text += piece.toString();
    });
    socket.once('close', () => resolve(text));
  });
  for (const [name, value] of Object.entries(DATA))
    expect(heard.toLowerCase()).toContain(`${name}: ${value.toLowerCase()}`);
});
