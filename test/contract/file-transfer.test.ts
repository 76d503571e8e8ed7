/** Files between hub and agents: /agent/files/<SHA-256>. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { LOG_LEVEL } from '../support/memory-log.js';

hubForAllTests();

const digestOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');
const MISSING = 'a'.repeat(64);

/** Message of the error body. */
async function messageOf(answer: Response): Promise<string> {
  const body = (await answer.json()) as Record<string, unknown>;
  expect(body).toMatchObject({ status: answer.status, path: new URL(answer.url).pathname });
  return String(body['message']);
}

function ask(path: string, init: RequestInit = {}, token = hub.token): Promise<Response> {
  return fetch(`${hub.address}/agent/files/${path}`, {
    ...init,
    headers: { authorization: `Bearer ${token}`, ...init.headers },
  });
}

describe('a blob', () => {
  it.each([0, 10, 100_000, 5_000_000])('of %d bytes can be uploaded, found and downloaded', async (bytes) => {
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

  it.each([10, 100_000])('with another digest than announced is refused (%d bytes)', async (bytes) => {
    const answer = await ask(MISSING, { method: 'PUT', body: Buffer.alloc(bytes, 'x') });
    expect(answer.status).toBe(400);
    expect(await messageOf(answer)).toMatch(/^announced a{64} \(\d+ bytes\), received [0-9a-f]{64}/);
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
    expect([answer.status, await messageOf(answer)]).toEqual([411, 'Content-Length is required']);
  });

  it('whose sender disconnects half-way is not kept and not logged as an error', async () => {
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
    // 409 until the hub has noticed.
    await eventually(
      async () => (await ask(digestOf(content), { method: 'PUT', body: content })).status === 204,
    );
    await eventually(() => hub.log.every(({ level }) => level < LOG_LEVEL.ERROR));
  });
});

/** Sends the bytes of a blob from `start` up to `end`, and cuts the connection when the hub has kept them. */
async function cutAt(content: Buffer, start: number, end: number): Promise<void> {
  const { hostname, port } = new URL(hub.address);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const range = `Content-Range: bytes ${start}-${content.length - 1}/${content.length}\r\n`;
  socket.write(
    `PUT /agent/files/${digestOf(content)} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer ${hub.token}\r\n` +
      `${start === 0 ? '' : range}Content-Length: ${content.length - start}\r\n\r\n`,
  );
  socket.write(content.subarray(start, end));
  await eventually(async () => (await offsetOf(content)) === end);
  socket.destroy();
}

/** Repeats until the hub has noticed that the former sender is gone. */
function goOnSoon(content: Buffer, start: number, from = content): Promise<Response> {
  return eventually(async () => {
    const headers = { 'content-range': `bytes ${start}-${content.length - 1}/${content.length}` };
    const put = await ask(digestOf(content), { method: 'PUT', body: from.subarray(start), headers });
    return put.status !== 409 && put;
  });
}

/** Bytes of a partial blob that the hub states. */
async function offsetOf(content: Buffer): Promise<number> {
  const { headers } = await ask(digestOf(content), { method: 'HEAD' });
  return Number(headers.get('upload-offset'));
}

describe('an interrupted upload', () => {
  it.each([10, 50, 99])('at %d %% is resumed from there', async (percent) => {
    const content = Buffer.alloc(2_000_000, `broken at ${percent}`);
    expect(await offsetOf(content)).toBe(0);
    const end = (content.length * percent) / 100;
    await cutAt(content, 0, end);
    const answer = await goOnSoon(content, end);
    expect(answer.status).toBe(204);
    expect(digestOf(Buffer.from(await (await ask(digestOf(content))).arrayBuffer()))).toBe(digestOf(content));
    expect(hub.log.filter(({ level }) => level >= LOG_LEVEL.ERROR)).toEqual([]);
  });

  it('cannot be resumed from elsewhere: 409 names the offset', async () => {
    const content = Buffer.alloc(200_000, 'elsewhere');
    const headers = { 'content-range': 'bytes 1000-199999/200000' };
    const answer = await ask(digestOf(content), { method: 'PUT', body: content.subarray(1000), headers });
    expect([answer.status, answer.headers.get('upload-offset')]).toEqual([409, '0']);
    expect(await messageOf(answer)).toBe('0 bytes of this blob are stored: continue from there');
  });

  it('resumed with other bytes is answered with 400 and starts over', async () => {
    const content = Buffer.alloc(200_000, 'bytes');
    await cutAt(content, 0, 1000);
    const other = Buffer.alloc(200_000, 'other');
    const answer = await goOnSoon(content, 1000, other);
    expect(answer.status).toBe(400);
    await answer.text();
    expect(await offsetOf(content)).toBe(0);
    expect((await ask(digestOf(content), { method: 'PUT', body: content })).status).toBe(204);
  });

  it.each([
    'bytes 0-9/11',
    'bytes 0-8/9',
    'bytes 5-9/10',
    'bytes 0-9/*',
    'bytes */10',
    'lines 0-9/10',
    'bytes 0-9/10, 0-9/10',
    `bytes 0-9/${'9'.repeat(30)}`,
  ])('cannot be resumed with a bad Content-Range: %s', async (range) => {
    const answer = await ask(MISSING, {
      method: 'PUT',
      body: Buffer.alloc(10),
      headers: { 'content-range': range },
    });
    expect(answer.status).toBe(400);
    expect(await messageOf(answer)).toMatch(/^Content-Range names the bytes/);
  });
});

describe('a part of a blob', () => {
  it.each([1000, 3_000_000])('of %d bytes is downloaded by its range', async (bytes) => {
    const content = Buffer.from(Array.from({ length: bytes }, (_, at) => at % 251));
    const digest = digestOf(content);
    await ask(digest, { method: 'PUT', body: content });
    const whole = await ask(digest, { method: 'HEAD' });
    expect([whole.headers.get('etag'), whole.headers.get('accept-ranges')]).toEqual([`"${digest}"`, 'bytes']);
    const rest = await ask(digest, { headers: { range: 'bytes=100-', 'if-range': `"${digest}"` } });
    expect([rest.status, rest.headers.get('content-range'), rest.headers.get('content-length')]).toEqual([
      206,
      `bytes 100-${bytes - 1}/${bytes}`,
      `${bytes - 100}`,
    ]);
    expect(Buffer.from(await rest.arrayBuffer()).equals(content.subarray(100))).toBe(true);
    const other = await ask(digest, { headers: { range: 'bytes=100-', 'if-range': '"another"' } });
    expect([other.status, (await other.arrayBuffer()).byteLength]).toEqual([200, bytes]);
    const beyond = await ask(digest, { headers: { range: `bytes=${bytes}-` } });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${bytes}`]);
    expect(await messageOf(beyond)).toBe(`the file has ${bytes} bytes`);
  });
});

describe('a file request of an agent', () => {
  it.each(['', 'wrong'])('with a wrong token is answered with 401: %j', async (token) => {
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
  ])('for %j is answered with 404', async (path) => {
    const answer = await ask(path);
    expect(answer.status).toBe(404);
    await answer.text();
  });

  it.each(['POST', 'DELETE', 'PATCH'])('by %s is answered with 405', async (method) => {
    const answer = await ask(MISSING, { method });
    expect([answer.status, await messageOf(answer)]).toEqual([405, 'GET, HEAD or PUT only']);
  });
});
