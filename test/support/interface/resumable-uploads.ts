/** Requests of resumable uploads, byte by byte; `tus-js-client` cannot make a bad one. */
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { expect } from 'vitest';
import { eventually } from '../eventually.js';
import { hub, api as openApi } from '../hubs/hub-for-tests.js';
import type { Answer, Api } from './api.js';
import { bytesOnDisk } from './input-storage.js';

export const UPLOADS = '/api/x/storage/input/uploads';
const PART_TYPE = 'application/offset+octet-stream';
const TUS = { 'tus-resumable': '1.0.0' };

export function metadataOf(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
    .join(',');
}

export function sha256Of(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Sends the request that begins an upload. */
export function begin(
  values: Readonly<Record<string, string>>,
  length: number | string,
  { query = '', api = openApi }: { readonly query?: string; readonly api?: Api } = {},
): Promise<Answer> {
  const headers = { ...TUS, 'upload-length': String(length), 'upload-metadata': metadataOf(values) };
  return api.call('POST', UPLOADS + query, { headers });
}

/** Begins an upload; returns its path. */
export async function begun(
  values: Readonly<Record<string, string>>,
  length: number,
  options: { readonly query?: string; readonly api?: Api } = {},
): Promise<string> {
  const answer = await begin(values, length, options);
  expect(answer.status, answer.text).toBe(201);
  return new URL(answer.headers.get('location') ?? '', hub.address + UPLOADS).pathname;
}

export function sendPart(
  path: string,
  offset: number | string,
  content: Uint8Array | ReadableStream,
  { api = openApi, headers = {} }: { readonly api?: Api; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  return api.call('PATCH', path, {
    raw: content,
    headers: { ...TUS, 'content-type': PART_TYPE, 'upload-offset': String(offset), ...headers },
  });
}

export function state(path: string, api = openApi): Promise<Answer> {
  return api.call('HEAD', path, { headers: TUS });
}

/** Bytes that the hub has of an upload. */
export async function offsetOf(path: string): Promise<number> {
  const answer = await state(path);
  expect(answer.status).toBe(200);
  return Number(answer.headers.get('upload-offset'));
}

/** Cuts a part off when the hub has written more than `bytes` of it; returns how many the hub has then. It need not have read all that
 *  was sent. */
export async function cutAfter(bytes: number, part: { cut(): void }, path: string): Promise<number> {
  await eventually(async () => (await bytesOnDisk()) > bytes);
  part.cut();
  return eventually(async () => (await offsetOf(path)) || undefined);
}

/** Sends the head and the first bytes of a part over a connection of its own, which announces `length` bytes. */
export async function beginPart(
  path: string,
  offset: number,
  content: Buffer,
  length: number,
): Promise<{ cut(): void; finish(rest: Buffer): Promise<string> }> {
  const { hostname, port } = new URL(hub.address);
  const socket = connect(Number(port), hostname);
  let heard = '';
  socket.on('data', (piece) => {
    heard += piece.toString();
  });
  socket.on('error', () => undefined);
  const head = [
    `PATCH ${path} HTTP/1.1`,
    `host: ${hostname}`,
    'tus-resumable: 1.0.0',
    `content-type: ${PART_TYPE}`,
    `content-length: ${length}`,
    `upload-offset: ${offset}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await new Promise<void>((resolve) => socket.write(content, () => resolve()));
  return {
    cut: () => socket.destroy(),
    finish: async (rest) => {
      socket.write(rest);
      const response = await eventually(() => (heard.includes('\r\n\r\n') ? heard : undefined));
      socket.destroy();
      return response;
    },
  };
}
