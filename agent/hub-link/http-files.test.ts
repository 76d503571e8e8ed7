import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FileTransfer } from '../core/ports/hub.js';
import { ContentLost } from '../core/ports/spool.js';
import { httpFiles } from './http-files.js';

const DIGEST = 'ab'.repeat(32);
const NEVER = new AbortController().signal;

let server: Server;
let dispatcher: Agent;
let files: FileTransfer;
let status: number;
let content: string;
let connections: number;
let requests: string[];

beforeEach(async () => {
  [status, content, connections, requests] = [200, 'content', 0, []];
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      if (request.method === 'PUT') content = body;
      response.writeHead(status).end(request.method === 'GET' ? content : undefined);
    });
  });
  server.on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  dispatcher = new Agent({ connections: 4 });
  const { port } = server.address() as AddressInfo;
  files = httpFiles({ address: `ws://127.0.0.1:${port}/base/`, token: 'token', dispatcher });
});

afterEach(async () => {
  await dispatcher.destroy();
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

async function download(): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await files.download(DIGEST, NEVER)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function* source(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

describe('contents over HTTP', () => {
  test('are fetched, asked for and sent beneath the address of the hub, with the token', async () => {
    expect(await download()).toBe('content');
    expect(await files.has(DIGEST, NEVER)).toBe(true);
    await files.upload({ digest: DIGEST, sizeBytes: 5 }, source('fresh'), NEVER);
    expect(content).toBe('fresh');
    expect(requests).toEqual(
      ['GET', 'HEAD', 'PUT'].map((method) => `${method} /base/agent/files/${DIGEST} Bearer token`),
    );
  });

  test('share connections', async () => {
    for (let times = 0; times < 10; times++) {
      await download();
      await files.has(DIGEST, NEVER);
      await files.upload({ digest: DIGEST, sizeBytes: 5 }, source('fresh'), NEVER);
    }
    expect(connections).toBeLessThanOrEqual(4);
  });

  test('that the hub lacks or refuses are told apart', async () => {
    status = 404;
    await expect(download()).rejects.toMatchObject({ failure: 'MISSING' });
    expect(await files.has(DIGEST, NEVER)).toBe(false);
    status = 507;
    await expect(download()).rejects.toMatchObject({
      failure: 'REFUSED',
      message: 'the hub answered GET with 507',
    });
    await expect(files.has(DIGEST, NEVER)).rejects.toMatchObject({ failure: 'REFUSED' });
    const upload = files.upload({ digest: DIGEST, sizeBytes: 5 }, source('fresh'), NEVER);
    await expect(upload).rejects.toMatchObject({ failure: 'REFUSED' });
  });

  test('fail by the network, or by the disk, in their own words', async () => {
    const lost = (async function* () {
      yield Buffer.from('fr');
      throw new ContentLost('the spooled content is gone');
    })();
    await expect(files.upload({ digest: DIGEST, sizeBytes: 5 }, lost, NEVER)).rejects.toThrow(ContentLost);
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await expect(download()).rejects.toMatchObject({ failure: 'UNREACHABLE' });
    server.listen(0);
  });

  test('stop when nobody needs them', async () => {
    const aborted = AbortSignal.abort(new Error('not needed'));
    await expect(files.download(DIGEST, aborted)).rejects.toThrow('not needed');
  });
});
