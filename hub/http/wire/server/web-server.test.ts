import { connect, type Socket } from 'node:net';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ResponseMemory } from '../response-memory.js';
import { WebServer, type WebServerOptions } from './web-server.js';

let runtime: ManualRuntime;
let responseMemory: ResponseMemory;
let web: WebServer;
let address: string;
let answer: (request: Request) => Promise<Response>;
let asked: number;
/** Time without progress after which a response is aborted, by the clock of the system. */
let stalledAnswer: number;
const sockets: Socket[] = [];

beforeEach(async () => {
  runtime = manualRuntime();
  asked = 0;
  stalledAnswer = 300;
  responseMemory = new ResponseMemory(1024 ** 2);
  answer = async (request) => new Response(await request.text());
  web = new WebServer(options());
  opened = [];
  web.server.on('connection', (socket) => opened.push(socket));
  address = await web.listen();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  const closed = web.close(0);
  await runtime.advance(0);
  await closed;
});

function options(): WebServerOptions {
  return {
    host: '127.0.0.1',
    port: 0,
    tls: null,
    slowClients: {
      minBodyRate: 1024,
      get stalledAnswer() {
        return stalledAnswer;
      },
    },
    responseMemory,
    log: { info: () => undefined, debug: () => undefined } as unknown as Logger,
    timers: runtime.timers,
    clock: runtime.clock,
    newId: runtime.newId,
    fetch: (request) => {
      asked++;
      return answer(request);
    },
  };
}

interface Connection {
  readonly socket: Socket;
  heard: string;
  ended: boolean;
}

/** Sends bytes at once and collects everything received. */
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

let opened: Socket[] = [];

/** Open sockets of the server. */
function socketsOfServer(): Socket[] {
  return opened.filter(({ destroyed }) => !destroyed);
}

describe('start and stop', () => {
  it('can be called twice; the stop waits for requests in progress', async () => {
    expect(await web.listen()).toBe(address);
    let ready: (response: Response) => void = () => undefined;
    answer = () => new Promise((resolve) => (ready = resolve));
    const client = talk('GET / HTTP/1.1\r\nHost: hub\r\n\r\n');
    await expect.poll(() => asked).toBe(1);
    let stopped = 0;
    const stops = [web.close(60_000), web.close(0)].map((stop) => stop.then(() => stopped++));
    await runtime.advance(1000);
    expect(stopped).toBe(0);
    ready(new Response('done'));
    await Promise.all(stops);
    await expect.poll(() => client.heard).toMatch(/done$/);
    await web.close(0);
  });

  it('after a stop without a start, the start is refused', async () => {
    const other = new WebServer(options());
    await other.close(0);
    await expect(other.listen()).rejects.toThrow('the web server was closed');
  });

  it('the stop can be called during the start', async () => {
    const other = new WebServer(options());
    const started = other.listen();
    await other.close(0);
    await expect(started).resolves.toMatch(/^http:/);
    expect(other.server.listening).toBe(false);
  });
});

const POST = (lengthBytes: number) =>
  `POST /slow?x=1 HTTP/1.1\r\nHost: hub\r\nContent-Length: ${lengthBytes}\r\n\r\n`;

describe('a slow client', () => {
  it('that sends its body a byte at a time is refused with 408, and its connection ends', async () => {
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

  it('that keeps the minimum rate is served, however long it takes', async () => {
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

  it('may wait for a response for any time', async () => {
    let ready: (response: Response) => void = () => undefined;
    answer = () => new Promise((resolve) => (ready = resolve));
    const client = talk('GET / HTTP/1.1\r\nHost: hub\r\n\r\n');
    await expect.poll(() => asked).toBe(1);
    await runtime.advance(24 * 3_600_000);
    expect(client.ended).toBe(false);
    ready(new Response('done'));
    await expect.poll(() => client.heard).toMatch(/done$/);
  });

  it('that reads nothing of its response is cut off', async () => {
    answer = async () => new Response('x'.repeat(64 * 1024 ** 2));
    const client = talk('GET / HTTP/1.1\r\nHost: hub\r\n\r\n');
    client.socket.pause();
    await expect.poll(() => asked).toBe(1);
    const open = () => new Promise((resolve) => web.server.getConnections((_, count) => resolve(count)));
    await runtime.advance(5000);
    await expect.poll(open).toBe(0);
  });

  it('that reads nothing of its response is cut off, however often it is checked meanwhile', async () => {
    answer = async () => new Response('x'.repeat(64 * 1024 ** 2));
    const client = talk('GET / HTTP/1.1\r\nHost: hub\r\n\r\n');
    client.socket.pause();
    await expect.poll(() => socketsOfServer()[0]?.writableLength).toBeGreaterThan(0);
    // Each check comes before the 300 ms have passed.
    for (let check = 0; check < 20 && socketsOfServer().length > 0; check++) {
      await runtime.advance(5000);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await expect.poll(() => socketsOfServer().length).toBe(0);
  });

  it('that reads its response slowly receives all of it', async () => {
    // Longer than a busy machine stops this process, and shorter than the client reads.
    stalledAnswer = 2000;
    const lengthBytes = 32 * 1024 ** 2;
    answer = async () => new Response('x'.repeat(lengthBytes));
    const client = talk('GET / HTTP/1.1\r\nHost: hub\r\n\r\n');
    const beganMs = performance.now();
    let taken = 0;
    client.socket.on('data', (piece) => {
      taken += piece.length;
      client.socket.pause();
      setTimeout(() => client.socket.resume(), 5);
    });
    await expect.poll(() => asked).toBe(1);
    await runtime.advance(5000);
    await expect.poll(() => taken).toBeGreaterThan(lengthBytes);
    expect(performance.now() - beganMs).toBeGreaterThan(stalledAnswer);
  });
});

describe('a body that is refused before it has arrived', () => {
  const lengthBytes = 48 * 1024 ** 2;
  const refused = (status: number) => async () =>
    new Response('no', { status, headers: { connection: 'close' } });
  const head = (more: string) =>
    `POST / HTTP/1.1\r\nHost: hub\r\nContent-Length: ${lengthBytes}\r\n${more}\r\n`;

  it.each([
    ['keeps', ''],
    ['ends', 'Connection: close\r\n'],
  ])('is sent to its end by a client that reads only then, and %s its connection', async (_, more) => {
    answer = refused(401);
    const client = talk(head(more));
    const errors: Error[] = [];
    client.socket.on('error', (error) => errors.push(error)).pause();
    await expect.poll(() => asked).toBe(1);
    for (let sent = 0; sent < lengthBytes; sent += 1024 ** 2) {
      await new Promise((resolve) => client.socket.write('x'.repeat(1024 ** 2), resolve));
    }
    client.socket.resume();
    await expect.poll(() => client.ended).toBe(true);
    expect(client.heard).toMatch(/^HTTP\/1\.1 401 .*no$/s);
    expect(errors).toEqual([]);
    await expect.poll(() => socketsOfServer().length).toBe(0);
  });

  it('is read no longer than ten seconds, and one second without a byte', async () => {
    answer = refused(401);
    for (const [sends, endsAfterMs] of [
      [true, 10_000],
      [false, 1000],
    ] as const) {
      const client = talk(`${head('')}x`);
      client.socket.pause();
      await expect.poll(() => socketsOfServer()[0]?.writableFinished).toBe(true);
      const [socket] = socketsOfServer();
      for (let passedMs = 1000; passedMs < endsAfterMs; passedMs += 1000) {
        const before = socket?.bytesRead;
        if (sends) client.socket.write('x');
        await expect.poll(() => socket?.bytesRead).not.toBe(before);
        await runtime.advance(1000);
        expect(socket?.destroyed).toBe(false);
      }
      await runtime.advance(1000);
      expect(socket?.destroyed).toBe(true);
    }
  });

  it.each([
    ['of a client that is too slow', 408, ''],
    ['of a client that was not told to send it', 401, 'Expect: 100-continue\r\n'],
  ])('%s is not waited for', async (_, status, more) => {
    answer = refused(status);
    const client = talk(head(more));
    await expect.poll(() => client.ended).toBe(true);
    expect(client.heard).toContain(`HTTP/1.1 ${status} `);
    await expect.poll(() => socketsOfServer().length).toBe(0);
  });
});

describe('requests on one connection', () => {
  const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: hub\r\n\r\n`;
  const pathOf = ({ url }: Request) => new URL(url).pathname;

  it('are processed one after the other, in order', async () => {
    let atWork = 0;
    let most = 0;
    answer = async (request) => {
      most = Math.max(most, ++atWork);
      await new Promise((resolve) => setImmediate(resolve));
      atWork--;
      return new Response(`<${pathOf(request)}${await request.text()}>`);
    };
    const posted = 'POST /posted HTTP/1.1\r\nHost: hub\r\nContent-Length: 3\r\n\r\nabc';
    const client = talk(GET('/1') + posted + GET('/2') + GET('/3').repeat(300) + GET('/last'));
    await expect.poll(() => client.heard).toContain('</last>');
    expect(client.heard.match(/<[^>]*>/g)).toEqual([
      ...['</1>', '</postedabc>', '</2>'],
      ...Array.from({ length: 300 }, () => '</3>'),
      '</last>',
    ]);
    expect(most).toBe(1);
  });

  it('begin only when the responses before them have left, and no more of them is read meanwhile', async () => {
    answer = async () => new Response('x'.repeat(16 * 1024 ** 2));
    const client = talk(GET('/large').repeat(100_000));
    client.socket.pause();
    await expect.poll(() => asked).toBeGreaterThan(0);
    const seen: [number, number][] = [];
    for (let at = 0; at < 20; at++) {
      const [socket] = socketsOfServer();
      seen.push([asked, socket?.bytesRead ?? 0]);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(seen.at(-1)).toEqual([1, expect.any(Number)]);
    expect(seen.at(-1)?.[1]).toBeLessThan(1024 ** 2);
  });

  it('that wait are dropped when the connection ends after the response before them', async () => {
    answer = async () => new Response('', { headers: { connection: 'close' } });
    const client = talk(GET('/1') + GET('/2'));
    await expect.poll(() => client.ended).toBe(true);
    expect(asked).toBe(1);
  });

  it('that wait are dropped when the client has disconnected', async () => {
    let ready: (response: Response) => void = () => undefined;
    answer = () => new Promise((resolve) => (ready = resolve));
    const client = talk(GET('/1') + GET('/2'));
    await expect.poll(() => asked).toBe(1);
    const [socket] = socketsOfServer();
    client.socket.resetAndDestroy();
    ready(new Response('x'.repeat(1024 ** 2)));
    await expect.poll(() => socket?.destroyed).toBe(true);
    expect(asked).toBe(1);
  });

  it('that wait take bounded memory over all connections: the connection that exceeds it ends', async () => {
    const ready: ((response: Response) => void)[] = [];
    answer = () => new Promise((resolve) => ready.push(resolve));
    // Each takes 8 KiB and each connection 64 KiB, of 64 MiB.
    const clients = Array.from({ length: 6 }, () => talk(GET('/').repeat(1500)));
    await expect.poll(() => clients.filter(({ ended }) => ended).length).toBeGreaterThan(0);
    const left = clients.filter(({ ended }) => !ended);
    expect(left.length).toBe(5);
    // A disconnect is noticed when the response is written, since nothing is read before.
    answer = async () => new Response('again');
    for (const { socket } of left) socket.destroy();
    for (const give of ready) give(new Response('x'.repeat(1024 ** 2)));
    await expect.poll(() => socketsOfServer().length).toBe(0);
    const another = talk(GET('/').repeat(1500));
    await expect.poll(() => another.heard.match(/again/g)?.length).toBe(1500);
  });

  it('are not followed by a WebSocket: their responses would mix with its frames', async () => {
    answer = () => new Promise(() => undefined);
    const upgraded: unknown[] = [];
    web.server.on('upgrade', (_, socket) => upgraded.push(socket.destroyed));
    const client = talk(
      `${GET('/1')}GET /agent/connect HTTP/1.1\r\nHost: hub\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    );
    await expect.poll(() => client.ended).toBe(true);
    expect(upgraded).toEqual([true]);
  });
});

describe('a request beyond the limits', () => {
  it.each([
    [
      '201 headers',
      `GET /a HTTP/1.1\r\nHost: hub\r\n${'X: y\r\n'.repeat(200)}\r\n`,
      431,
      /at most 200 headers/,
      '/a',
    ],
    [
      'two hosts',
      'GET /h HTTP/1.1\r\nHost: hub\r\nX: y\r\nhOST: other\r\n\r\n',
      400,
      /^the request cannot be read: it has more than one Host header$/,
      '/h',
    ],
    [
      'the same host twice',
      'GET /h HTTP/1.1\r\nHost: hub\r\nHost: hub\r\n\r\n',
      400,
      /more than one Host header/,
      '/h',
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

  it('200 headers are accepted', async () => {
    const client = talk(`GET /a HTTP/1.1\r\nHost: hub\r\n${'X: y\r\n'.repeat(199)}\r\n`);
    await expect.poll(() => client.heard).toMatch(/^HTTP\/1\.1 200 /);
  });
});
