import { connect, type Socket } from 'node:net';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type WebServer, webServer } from './web-server.js';

let runtime: ManualRuntime;
let web: WebServer;
let address: string;
let answer: (request: Request) => Promise<Response>;
let asked: number;
const sockets: Socket[] = [];

beforeEach(async () => {
  runtime = manualRuntime();
  asked = 0;
  answer = async (request) => new Response(await request.text());
  web = webServer({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    slowClients: { minBodyRate: 1024, stalledAnswer: 300 },
    log: { info: () => undefined, debug: () => undefined } as unknown as Logger,
    timers: runtime.timers,
    clock: runtime.clock,
    newId: runtime.newId,
    fetch: (request) => {
      asked++;
      return answer(request);
    },
    first: () => false,
  });
  address = await web.listen();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  const closed = web.close(0);
  await runtime.advance(0);
  await closed;
});

interface Connection {
  readonly socket: Socket;
  heard: string;
  ended: boolean;
}

/** Sends this at once; keeps what comes. */
function talk(bytes: string): Connection {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname, () => socket.write(bytes));
  const connection = { socket, heard: '', ended: false };
  sockets.push(socket);
  socket.on('data', (piece) => {
    connection.heard += piece.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    connection.ended = true;
  });
  return connection;
}

const POST = (lengthBytes: number) =>
  `POST /slow?x=1 HTTP/1.1\r\nHost: hub\r\nContent-Length: ${lengthBytes}\r\n\r\n`;

describe('a slow client', () => {
  it('that sends its body a byte at a time is answered with 408, and its connection ends', async () => {
    const client = talk(`${POST(100_000)}begin`);
    await expect.poll(() => asked).toBe(1);
    for (let passedS = 0; passedS < 40; passedS += 5) {
      client.socket.write('x');
      await runtime.advance(5000);
    }
    await expect.poll(() => client.ended).toBe(true);
    expect(client.heard).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(JSON.parse(client.heard.split('\r\n\r\n')[1] ?? '')).toMatchObject({
      status: 408,
      message: expect.stringMatching(/comes too slowly: at least 1024 bytes a second .*limits\.minBodyRate/),
      path: '/slow',
    });
  });

  it('that keeps the pace is waited for, however long it takes', async () => {
    const client = talk(POST(400_000));
    await expect.poll(() => asked).toBe(1);
    for (let sent = 0; sent < 400_000; sent += 10_000) {
      const wire = new Promise((resolve) => client.socket.write('x'.repeat(10_000), resolve));
      await wire;
      await runtime.advance(5000);
    }
    await expect.poll(() => client.heard.length).toBeGreaterThan(400_000);
    expect(client.heard).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it('may wait for an answer as long as it will', async () => {
    let ready: (response: Response) => void = () => undefined;
    answer = () => new Promise((resolve) => (ready = resolve));
    const client = talk('GET / HTTP/1.1\r\nHost: hub\r\n\r\n');
    await expect.poll(() => asked).toBe(1);
    await runtime.advance(24 * 3_600_000);
    expect(client.ended).toBe(false);
    ready(new Response('at last'));
    await expect.poll(() => client.heard).toMatch(/at last$/);
  });

  it('that takes nothing of its answer is given up', async () => {
    answer = async () => new Response('x'.repeat(64 * 1024 ** 2));
    const client = talk('GET / HTTP/1.1\r\nHost: hub\r\n\r\n');
    client.socket.pause();
    await expect.poll(() => asked).toBe(1);
    const open = () => new Promise((resolve) => web.server.getConnections((_, count) => resolve(count)));
    await runtime.advance(5000);
    await expect.poll(open, { timeout: 10_000 }).toBe(0);
  });

  it('that takes its answer bit by bit gets all of it', async () => {
    const lengthBytes = 32 * 1024 ** 2;
    answer = async () => new Response('x'.repeat(lengthBytes));
    const client = talk('GET / HTTP/1.1\r\nHost: hub\r\n\r\n');
    let taken = 0;
    client.socket.on('data', (piece) => {
      taken += piece.length;
      client.socket.pause();
      setImmediate(() => client.socket.resume());
    });
    await expect.poll(() => asked).toBe(1);
    await runtime.advance(5000);
    await expect.poll(() => taken, { timeout: 15_000 }).toBeGreaterThan(lengthBytes);
  });
});

describe('a request that is out of bounds', () => {
  it.each([
    [
      '201 headers',
      `GET /a HTTP/1.1\r\nHost: hub\r\n${'X: y\r\n'.repeat(200)}\r\n`,
      431,
      /at most 200 headers/,
      '/a',
    ],
    [
      'a long target',
      `GET /b?${'c'.repeat(9000)} HTTP/1.1\r\nHost: hub\r\n\r\n`,
      414,
      /at most 8192 characters/,
      '/b',
    ],
  ])('%s', async (_, bytes, status, message, path) => {
    const client = talk(bytes);
    await expect.poll(() => client.ended).toBe(true);
    const [head = '', body = ''] = client.heard.split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head.toLowerCase()).toContain('x-content-type-options: nosniff');
    expect(JSON.parse(body)).toMatchObject({ status, message: expect.stringMatching(message), path });
    expect(asked).toBe(0);
  });

  it('but 200 headers are taken', async () => {
    const client = talk(`GET /a HTTP/1.1\r\nHost: hub\r\n${'X: y\r\n'.repeat(199)}\r\n`);
    await expect.poll(() => client.heard).toMatch(/^HTTP\/1\.1 200 /);
  });
});
