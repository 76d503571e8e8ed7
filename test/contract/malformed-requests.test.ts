/** Responses to malformed requests, which have the error body too (contract 10.4). */
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { Api, OFFSET_TIMESTAMP } from '../support/interface/api.js';

hubForAllTests();

/** Sends bytes unchanged; resolves with all that comes until the hub ends the connection. */
function talk(bytes: string): Promise<string> {
  const { hostname, port } = new URL(hub.address);
  return new Promise((resolve, reject) => {
    let heard = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on('data', (piece) => {
      heard += piece.toString();
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(heard));
  });
}

const LAST = 'Connection: close\r\n\r\n';

it.each([
  [
    'a target with a backslash',
    `GET /a\\b?c HTTP/1.1\r\nHost: 127.0.0.1\r\n${LAST}`,
    400,
    'Bad Request',
    '/a\\b',
  ],
  ['a target that is none', `GET a HTTP/1.1\r\nHost: 127.0.0.1\r\n${LAST}`, 400, 'Bad Request', ''],
  ['a host that is none', `GET /livez HTTP/1.1\r\nHost: a b\r\n${LAST}`, 400, 'Bad Request', '/livez'],
  ['another URL in the host', `GET /livez HTTP/1.1\r\nHost: x/y?\r\n${LAST}`, 400, 'Bad Request', '/livez'],
  ['no HTTP', 'hello, is this the hub?\r\n\r\n', 400, 'Bad Request', ''],
  ['an unknown method', `FETCH /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n${LAST}`, 400, 'Bad Request', ''],
  [
    'a header that is broken by a carriage return',
    `GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\rAuthorization: Bearer b\r\n${LAST}`,
    400,
    'Bad Request',
    '',
  ],
  [
    'a header that is broken by a line feed',
    `GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\nAuthorization: Bearer b\r\n${LAST}`,
    400,
    'Bad Request',
    '',
  ],
  [
    'two lengths',
    `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
    400,
    'Bad Request',
    '',
  ],
  [
    'too large headers',
    `GET /livez HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n${LAST}`,
    431,
    'Request Header Fields Too Large',
    '',
  ],
])('%s', async (_, bytes, status, error, path) => {
  const [head = '', body = ''] = (await talk(bytes)).split('\r\n\r\n');
  expect(head.split('\r\n')[0]).toBe(`HTTP/1.1 ${status} ${error}`);
  expect(head.toLowerCase()).toContain('content-type: application/json');
  expect(JSON.parse(body)).toEqual({
    timestamp: expect.stringMatching(OFFSET_TIMESTAMP),
    status,
    error,
    message: expect.stringMatching(/^the request cannot be read: ./),
    path,
  });
});

it('a malformed request during another response ends the connection without a response', async () => {
  const id = await new Api(hub).simulateWork();
  const waiting = `GET /api/2.0/workbench/task/simulate-work/${id}/result?timeout=60 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
  expect(await talk(`${waiting}rubbish\r\n\r\n`)).toBe('');
});

it('malformed requests do not affect the hub', async () => {
  expect((await fetch(`${hub.address}/livez`)).status).toBe(200);
  expect(hub.log.filter(({ level }) => level >= 40)).toEqual([]);
});
