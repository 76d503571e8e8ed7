/** Requests to the input storage of the running hub, and the files of its blobs. */
import { readdir, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { eventually } from '../eventually.js';
import { api, hub } from '../hubs/hub-for-tests.js';
import type { Answer } from './api.js';
import { type Form, formWithFile } from './forms.js';

export const INPUT = '/api/2.0/storage/input';
export const UPLOAD = `${INPUT}/upload`;

/** Sends an upload form. */
export function send(form: Form, query = ''): Promise<Answer> {
  return api.call('POST', UPLOAD + query, form);
}

export function upload(name: string, content: string | Buffer, query = ''): Promise<Answer> {
  return send(formWithFile(name, content), query);
}

export async function exists(name: string): Promise<unknown> {
  return (await api.get(`${INPUT}/${name}`)).body['exists'];
}

/** Paths of the blobs that are files, including uploads under way. */
export async function blobFiles(): Promise<string[]> {
  const folders = hub.blobFolders.map((folder) => readdir(folder, { recursive: true, withFileTypes: true }));
  const entries = (await Promise.all(folders)).flat();
  return entries
    .filter((entry) => entry.isFile() && entry.name !== 'workbench-hub-folder')
    .map(({ parentPath, name }) => join(parentPath, name));
}

/** Space of blobs on the disk of the hub, including uploads under way. */
export async function bytesOnDisk(): Promise<number> {
  let bytes = 0;
  for (const path of await blobFiles()) {
    bytes += await stat(path).then(
      ({ size }) => size,
      () => 0,
    );
  }
  return bytes;
}

/** Sends the head and the first bytes of an upload over a connection of its own. */
export async function beginUpload({ raw, headers }: Form, bytes: number, query = '') {
  const { hostname, port } = new URL(hub.address);
  const socket = connect(Number(port), hostname);
  let heard = '';
  socket.on('data', (piece) => {
    heard += piece.toString();
  });
  socket.on('error', () => undefined);
  const head = [
    `POST ${UPLOAD}${query} HTTP/1.1`,
    `host: ${hostname}`,
    `content-length: ${raw.length}`,
    `content-type: ${headers['content-type']}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await new Promise<void>((resolve) => socket.write(raw.subarray(0, bytes), () => resolve()));
  /** Waits for the head of the response. */
  const responseHead = () => eventually(() => (heard.includes('\r\n\r\n') ? heard : undefined));
  return {
    responseHead,
    /** Sends the rest; resolves with the status of the response. */
    finish: async (): Promise<number> => {
      socket.write(raw.subarray(bytes));
      const response = await responseHead();
      socket.destroy();
      return Number(response.split(' ')[1]);
    },
    cut: () => socket.destroy(),
  };
}
