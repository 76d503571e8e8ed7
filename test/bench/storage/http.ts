/** Requests to a hub with bodies of any size, in both directions, without a copy in memory. */
import { get, request } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Bytes that are read from disk at a time. */
export const PIECE_BYTES = 768 * 1024;

export interface Sending {
  readonly method: 'POST' | 'PUT';
  readonly headers: Record<string, string | number>;
  readonly body: Readable;
  /** Expected status. */
  readonly status: number;
}

/** Sends a body; resolves with the response. */
export async function send(url: string, { method, headers, body, status }: Sending): Promise<void> {
  const outgoing = request(url, { method, headers });
  const answered = new Promise<number>((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (incoming) => {
      incoming.resume().once('end', () => resolve(incoming.statusCode ?? 0));
    });
  });
  await pipeline(body, outgoing);
  const answer = await answered;
  if (answer !== status) throw new Error(`${method} ${url} answered ${answer}`);
}

/** Reads a response to its end; returns the size of its body. */
export function receive(url: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (incoming) => {
      if (incoming.statusCode !== 200) reject(new Error(`GET ${url} answered ${incoming.statusCode}`));
      let bytes = 0;
      incoming.on('data', (piece: Buffer) => {
        bytes += piece.length;
      });
      incoming.once('error', reject);
      incoming.once('end', () => resolve(bytes));
    }).once('error', reject);
  });
}
