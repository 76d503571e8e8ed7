import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { FileTransfer } from '../joining/ports/hub.js';
import { BlobLost } from '../joining/ports/spool.js';
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
let headers: Record<string, string>;
let asked: IncomingHttpHeaders;

beforeEach(async () => {
  [status, content, connections, requests, headers] = [200, 'content', 0, [], {}];
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    asked = request.headers;
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      if (request.method === 'PUT') content = body;
      response.writeHead(status, headers).end(request.method === 'GET' ? content : undefined);
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

async function download(from = 0): Promise<string> {
  const chunks: Uint8Array[] = [];
  const { fromByte, content } = await files.download(DIGEST, from, NEVER);
  for await (const chunk of content) chunks.push(chunk);
  return `${fromByte === 0 ? '' : `${fromByte}: `}${Buffer.concat(chunks).toString()}`;
}

async function* source(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

describe('contents over HTTP', () => {
  test('are fetched, asked for and sent beneath the address of the hub, with the token', async () => {
    expect(await download()).toBe('content');
    expect(await files.uploadedBytes(DIGEST, NEVER)).toBe('WHOLE');
    await files.upload({ digest: DIGEST, sizeBytes: 5 }, source('fresh'), 0, NEVER);
    expect(content).toBe('fresh');
    expect(requests).toEqual(
      ['GET', 'HEAD', 'PUT'].map((method) => `${method} /base/agent/files/${DIGEST} Bearer token`),
    );
  });

  test('of a hub that is gone end with it, also while they wait for a connection', async () => {
    const unreachable = new Agent({ connections: 1, connect: () => undefined });
    onTestFinished(() => unreachable.destroy());
    const ofGone = httpFiles({ address: 'ws://127.0.0.1:1/', token: 'token', dispatcher: unreachable });
    const ended = new AbortController();
    const ends = [
      ofGone.download(DIGEST, 0, ended.signal),
      ofGone.uploadedBytes(DIGEST, ended.signal),
      ofGone.upload({ digest: DIGEST, sizeBytes: 5 }, source('fresh'), 0, ended.signal),
    ].map((transfer) => expect(transfer).rejects.toMatchObject({ failure: 'UNREACHABLE' }));
    ended.abort(new Error('the hub is gone'));
    await Promise.all(ends);
  });

  test('are fetched in part from hubs that know parts', async () => {
    [status, headers] = [206, { 'content-range': 'bytes 3-9/10' }];
    expect(await download(3)).toBe('3: content');
    expect([asked.range, asked['if-range']]).toEqual(['bytes=3-', `"${DIGEST}"`]);
    [status, headers] = [200, {}];
    expect(await download(3)).toBe('content');
    [status, headers] = [206, { 'content-range': 'bytes 4-9/10' }];
    await expect(download(3)).rejects.toMatchObject({ failure: 'REFUSED' });
  });

  test('are sent from the offset that the hub has reached', async () => {
    [status, headers] = [404, { 'upload-offset': '3' }];
    expect(await files.uploadedBytes(DIGEST, NEVER)).toEqual({ keptBytes: 3 });
    [status, headers] = [404, { 'upload-offset': 'three' }];
    expect(await files.uploadedBytes(DIGEST, NEVER)).toEqual({ keptBytes: 0 });
    [status, headers] = [204, {}];
    await files.upload({ digest: DIGEST, sizeBytes: 8 }, source('fresh'), 3, NEVER);
    expect([content, asked['content-range'], asked['content-length']]).toEqual(['fresh', 'bytes 3-7/8', '5']);
    await files.upload({ digest: DIGEST, sizeBytes: 8 }, source(''), 8, NEVER);
    expect([content, asked['content-range'], asked['content-length']]).toEqual(['', 'bytes 8-7/8', '0']);
  });

  test('share connections', async () => {
    for (let times = 0; times < 10; times++) {
      await download();
      await files.uploadedBytes(DIGEST, NEVER);
      await files.upload({ digest: DIGEST, sizeBytes: 5 }, source('fresh'), 0, NEVER);
    }
    expect(connections).toBeLessThanOrEqual(4);
  });

  test('that the hub lacks or refuses are told apart', async () => {
    status = 404;
    await expect(download()).rejects.toMatchObject({ failure: 'MISSING' });
    expect(await files.uploadedBytes(DIGEST, NEVER)).toEqual({ keptBytes: 0 });
    status = 507;
    await expect(download()).rejects.toMatchObject({
      failure: 'REFUSED',
      message: 'the hub answered GET with 507',
    });
    content = JSON.stringify({ status: 507, message: 'the disk of the hub is full' });
    await expect(download()).rejects.toThrow('the hub answered GET with 507: the disk of the hub is full');
    content = `{"message": "${'x'.repeat(100_000)}"}`;
    await expect(download()).rejects.toThrow(/^the hub answered GET with 507$/);
    status = 503;
    await expect(download()).rejects.toMatchObject({ failure: 'UNAVAILABLE' });
    await expect(files.uploadedBytes(DIGEST, NEVER)).rejects.toMatchObject({ failure: 'UNAVAILABLE' });
    status = 400;
    const other = files.upload({ digest: DIGEST, sizeBytes: 5 }, source('fresh'), 0, NEVER);
    await expect(other).rejects.toMatchObject({ failure: 'MISMATCH' });
    status = 507;
    await expect(files.uploadedBytes(DIGEST, NEVER)).rejects.toMatchObject({ failure: 'REFUSED' });
    const upload = files.upload({ digest: DIGEST, sizeBytes: 5 }, source('fresh'), 0, NEVER);
    await expect(upload).rejects.toMatchObject({ failure: 'REFUSED' });
  });

  test('fail by the network, or by the disk, in their own words', async () => {
    const lost = (async function* () {
      yield Buffer.from('fr');
      throw new BlobLost('the spooled blob is gone');
    })();
    await expect(files.upload({ digest: DIGEST, sizeBytes: 5 }, lost, 0, NEVER)).rejects.toThrow(BlobLost);
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await expect(download()).rejects.toMatchObject({ failure: 'UNREACHABLE' });
    server.listen(0);
  });

  test('stop when no job needs them', async () => {
    const aborted = AbortSignal.abort(new Error('not needed'));
    await expect(files.download(DIGEST, 0, aborted)).rejects.toThrow('not needed');
  });
});
