/** Responses of every endpoint to requests that none of them accepts (contract 10.1 and 10.2). */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { startHub } from '../support/hubs/running-hub.js';
import { Api, expectError } from '../support/interface/api.js';

const CREATE = '/api/2.0/workbench/task/simulate-work/create';

hubForAllTests({ config: { limits: { requestBody: '1KiB' } } });

describe('an unknown path', () => {
  it.each([
    '/assets',
    '/api',
    '/api/2.0/workbench/task',
    '/api/2.0/workbench/task/',
    '/api/2.0/workbench/task/1/2/3',
    '/api/2.0/workbench/task/list/',
    '/api/2.1/workbench/task/list',
    '/API/2.0/workbench/task/list',
    '/actuator',
    '/actuator/healthy',
    '/%2e%2e/etc/passwd',
    '/nothing/%C3%A4%20%00',
  ])('%s is answered with 404', async (path) => {
    const message = 'there is nothing at this path; /openapi.json lists all paths';
    for (const method of ['GET', 'POST'])
      expectError(await api.call(method, path), 404, new URL(path, hub.address).pathname, message);
  });
});

describe('a wrong method', () => {
  it.each([
    ['POST', '/actuator/health', 'GET'],
    ['PUT', CREATE, 'POST'],
    ['GET', CREATE, 'POST'],
    ['DELETE', '/api/2.0/workbench/task/list', 'GET'],
    ['POST', '/api/2.0/workbench/task/1', 'GET'],
    ['GET', '/api/2.0/workbench/task/1/cancel', 'DELETE'],
    ['POST', '/api/2.0/workbench/task/1/delete', 'DELETE'],
    ['PATCH', '/api/2.0/workbench/node/instance/list', 'GET'],
    ['POST', '/openapi.json', 'GET'],
    ['OPTIONS', '/livez', 'GET'],
  ])('%s %s is answered with 405 and Allow %s', async (method, path, allowed) => {
    const answer = await fetch(hub.address + path, { method });
    expect(answer.headers.get('allow')).toBe(allowed);
    const text = await answer.text();
    expectError(
      {
        status: answer.status,
        headers: answer.headers,
        text,
        body: JSON.parse(text) as Record<string, unknown>,
      },
      405,
      path,
      `${method} is not allowed here, only ${allowed}`,
    );
  });
});

describe('a body over the limit', () => {
  const tooLarge = 'the body may have at most 1024 bytes (limits.requestBody)';
  const request = (bytes: number) => {
    const frame = JSON.stringify({ duration: 1, name: '' });
    return JSON.stringify({ duration: 1, name: 'x'.repeat(bytes - frame.length) });
  };
  const inPieces = (text: string) =>
    new ReadableStream({
      start(controller) {
        for (let at = 0; at < text.length; at += 100)
          controller.enqueue(Buffer.from(text.slice(at, at + 100)));
        controller.close();
      },
    });

  it.each([
    ['announced', (text: string) => text],
    ['in pieces', inPieces],
  ])('is answered with 413, and one at the limit is accepted: %s', async (_, send) => {
    expect((await api.call('POST', CREATE, { raw: send(request(1000)) })).status).toBe(201);
    expectError(await api.call('POST', CREATE, { raw: send(request(1025)) }), 413, CREATE, tooLarge);
    const atLimit = await api.call('POST', CREATE, { raw: send(request(1024)) });
    expect([201, 400]).toContain(atLimit.status);
    expect(atLimit.text).not.toContain('limits.requestBody');
  });

  it('is answered with 413 before it has arrived', async () => {
    const { hostname, port } = new URL(hub.address);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(`POST ${CREATE} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n{`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    expect(head.toString()).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it('does not affect the next request', async () => {
    const large = 'x'.repeat(3_000_000);
    for (let at = 0; at < 3; at++) {
      expect((await api.call('POST', CREATE, { raw: large })).status).toBe(413);
    }
    expect((await api.post(CREATE, { duration: 1 })).status).toBe(201);
  });
});

describe('a malformed request', () => {
  /** Sends a text over a connection of its own; resolves with all that comes back. A client that `stays` leaves it to the hub
   *  to close the connection: one that has closed its side gets a response only if it need not wait. */
  async function exchange(text: string, { stays = false } = {}): Promise<string> {
    const { hostname, port } = new URL(hub.address);
    const socket = connect(Number(port), hostname);
    const pieces: Buffer[] = [];
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    if (stays) socket.write(text);
    else socket.end(text);
    await once(socket, 'close');
    return Buffer.concat(pieces).toString();
  }

  it.each([
    ['rubbish', 'rubbish\r\n\r\n'],
    ['an invalid path', 'GET http:// HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['an invalid host', 'GET /livez HTTP/1.1\r\nHost: a b\r\n\r\n'],
    ['no host', 'GET /livez HTTP/1.1\r\n\r\n'],
    [
      'an upgrade of an invalid path',
      'GET // HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    ],
  ])('is refused, and the hub continues: %s', async (_, text) => {
    expect(await exchange(text)).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect((await api.get('/livez')).status).toBe(200);
  });

  it('without a host is answered when it speaks HTTP/1.0, as some probes do', async () => {
    expect(await exchange('GET /livez HTTP/1.0\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 200 OK\r\n.*\{"status":"UP"\}$/s,
    );
  });

  it('is not one with an Upgrade offer, which is ignored', async () => {
    const offer = 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n';
    const connection = 'Connection: Upgrade, HTTP2-Settings';
    const body = '{"duration": 1}';
    const first = `POST ${CREATE} HTTP/1.1\r\nHost: localhost\r\n${connection}\r\n${offer}Content-Length: ${body.length}\r\n\r\n${body}`;
    const second = 'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const answers = await exchange(first + second, { stays: true });
    expect(answers).toMatch(/^HTTP\/1\.1 201 Created\r\n/);
    expect(answers).toContain('HTTP/1.1 200 OK');
    const third = `GET /livez HTTP/1.1\r\nHost: localhost\r\n${connection}, close\r\n${offer}\r\n`;
    expect(await exchange(third, { stays: true })).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('is not one of many with Upgrade offers, which leave nothing on the connection', async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error) => void warnings.push(name);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const { hostname, port } = new URL(hub.address);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    let answers = '';
    socket.on('data', (piece) => {
      answers += piece;
    });
    for (let sent = 1; sent <= 30; sent++) {
      socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
      while ((answers.match(/"UP"/g)?.length ?? 0) < sent) await once(socket, 'data');
    }
    expect(warnings).toEqual([]);
  });
});

it('a body without files is refused when parsing it would block the hub', async () => {
  const roomy = await startHub();
  onTestFinished(roomy.stop);
  const raw = `{"duration": 1, "nest": ${'['.repeat(600_000)}${']'.repeat(600_000)}}`;
  const answer = await new Api(roomy).call('POST', CREATE, { raw });
  const message = 'the body may have at most 1048576 bytes (the limit of bodies without files)';
  expectError(answer, 413, CREATE, message);
});

it('HEAD is answered like GET without a body', async () => {
  const answer = await api.call('HEAD', '/actuator/info');
  expect([answer.status, answer.text]).toEqual([200, '']);
});
