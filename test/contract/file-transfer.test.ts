/** Files between hub and agents: /agent/files/<SHA-256>. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { LOG_LEVEL } from '../support/memory-log.js';
import { type RunningHub, startHub } from '../support/running-hub.js';

let hub: RunningHub;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub.stop());

const digestOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');
const MISSING = 'a'.repeat(64);

function ask(path: string, init: RequestInit = {}, token = hub.token): Promise<Response> {
  return fetch(`${hub.address}/agent/files/${path}`, {
    ...init,
    headers: { authorization: `Bearer ${token}`, ...init.headers },
  });
}

describe('a content', () => {
  it.each([0, 10, 100_000, 5_000_000])('of %d bytes can be put, looked for and fetched', async (bytes) => {
    const content = Buffer.alloc(bytes, `content of ${bytes}`);
    const digest = digestOf(content);
    expect((await ask(digest, { method: 'HEAD' })).status).toBe(404);
    const put = await ask(digest, { method: 'PUT', body: content });
    expect([put.status, await put.text()]).toEqual([204, '']);

    const head = await ask(digest, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      `${bytes}`,
      '',
    ]);
    const got = await ask(digest);
    expect(got.status).toBe(200);
    expect(got.headers.get('content-type')).toBe('application/octet-stream');
    expect(got.headers.get('content-length')).toBe(`${bytes}`);
    expect(digestOf(Buffer.from(await got.arrayBuffer()))).toBe(digest);

    const again = await ask(digest, { method: 'PUT', body: content });
    expect(again.status).toBe(204);
  });

  it.each([10, 100_000])('that is not the one announced is refused (%d bytes)', async (bytes) => {
    const answer = await ask(MISSING, { method: 'PUT', body: Buffer.alloc(bytes, 'x') });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toMatch(/^announced a{64} \(\d+ bytes\), came [0-9a-f]{64}\n$/);
    expect((await ask(MISSING)).status).toBe(404);
  });

  it('of unknown length is refused', async () => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from('x'));
        controller.close();
      },
    });
    const answer = await ask(digestOf(Buffer.from('x')), {
      method: 'PUT',
      body,
      duplex: 'half',
    } as RequestInit);
    expect([answer.status, await answer.text()]).toEqual([411, 'Content-Length is required\n']);
  });

  it('whose sender goes away half-way is not kept, and that is no error of the hub', async () => {
    const content = Buffer.alloc(200_000, 'half');
    const { hostname, port } = new URL(hub.address);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(
      `PUT /agent/files/${digestOf(content)} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer ${hub.token}\r\n` +
        `Content-Length: ${content.length}\r\n\r\n`,
    );
    socket.write(content.subarray(0, 100_000), () => socket.destroy());
    await once(socket, 'close');
    expect((await ask(digestOf(content))).status).toBe(404);
    // The hub has noticed by the time at which it can take the same content whole.
    expect((await ask(digestOf(content), { method: 'PUT', body: content })).status).toBe(204);
    await eventually(() => hub.log.every(({ level }) => level < LOG_LEVEL.ERROR));
  });
});

describe('a request', () => {
  it.each(['', 'wrong'])('with a wrong token is a 401, whatever it asks for: %j', async (token) => {
    const content = Buffer.from('kept');
    await ask(digestOf(content), { method: 'PUT', body: content });
    for (const init of [{}, { method: 'HEAD' }, { method: 'PUT', body: Buffer.from('new') }]) {
      const answer = await ask(digestOf(content), init, token);
      expect(answer.status).toBe(401);
      await answer.text();
    }
    expect((await ask('..%2fhub.sqlite', {}, token)).status).toBe(401);
  });

  it.each([
    '',
    'abc',
    MISSING.toUpperCase(),
    `${MISSING}/`,
    `${MISSING}?x`,
    '../agent-token',
    '..%2fhub.sqlite',
    MISSING,
  ])('for %j is a 404', async (path) => {
    const answer = await ask(path);
    expect(answer.status).toBe(404);
    await answer.text();
  });

  it.each(['POST', 'DELETE', 'PATCH'])('by %s is a 405', async (method) => {
    const answer = await ask(MISSING, { method });
    expect([answer.status, await answer.text()]).toEqual([405, 'GET, HEAD or PUT only\n']);
  });
});
