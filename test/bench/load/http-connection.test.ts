import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { answerIn, HttpConnection } from './http-connection.js';

it('an HTTP connection returns a response only when it is complete', () => {
  const sized = Buffer.from('HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhäß');
  expect(answerIn(sized)).toEqual({ status: 201, text: 'häß', last: false });
  const chunked = Buffer.from(
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n',
  );
  expect(answerIn(chunked)).toEqual({ status: 200, text: 'abcd', last: false });
  for (const whole of [sized, chunked]) {
    for (let length = 0; length < whole.length; length++) {
      expect(answerIn(whole.subarray(0, length))).toBeUndefined();
    }
  }
});

it('an HTTP connection sends one request after the other, and reconnects when the server has closed it', async () => {
  let connections = 0;
  const server = createServer((request, response) => {
    if (request.url === '/last') response.setHeader('connection', 'close');
    request.on('data', () => undefined).on('end', () => response.end(`${request.method} ${request.url}`));
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const connection = new HttpConnection(typeof address === 'object' ? (address?.port ?? 0) : 0);
  onTestFinished(() => connection.close());
  const ask = async (path: string) => (await connection.request({ method: 'POST', path, body: '{}' })).text;
  expect(await ask('/a')).toBe('POST /a');
  expect(await ask('/last')).toBe('POST /last');
  expect(await ask('/b')).toBe('POST /b');
  expect(connections).toBe(2);
});
