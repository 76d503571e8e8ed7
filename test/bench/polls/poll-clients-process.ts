/** The clients of the polls, in a process of their own: plain sockets, so that they cost as little as possible. */
import { connect, type Socket } from 'node:net';
import { wallClockMs } from './wall-clock.js';

/** Input of the process. */
export type ToPollClients =
  | {
      readonly kind: 'open';
      readonly port: number;
      readonly paths: readonly string[];
      /** Encodings that the clients take, as browsers and libraries say it. */
      readonly encodings?: string;
    }
  | { readonly kind: 'leave'; readonly count: number }
  | { readonly kind: 'report' };

/** Output: all requests are sent; the number of clients that left; the arrival time of each response, by path. */
export type FromPollClients =
  | { readonly kind: 'asked' }
  | { readonly kind: 'left' }
  | { readonly kind: 'answers'; readonly answers: readonly (readonly [path: string, atMs: number])[] };

/** Connections being opened at a time: fewer than a server lets wait. */
const OPENED_AT_ONCE = 200;

const open = new Map<string, Socket>();
const answers = new Map<string, number>();

const say = (message: FromPollClients) => process.send?.(message);

function ask(port: number, path: string, encodings: string | undefined): Promise<void> {
  const accept = encodings === undefined ? '' : `Accept-Encoding: ${encodings}\r\n`;
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${accept}\r\n`, () => resolve());
    });
    open.set(path, socket);
    socket.on('error', reject);
    socket.on('data', () => {
      if (!answers.has(path)) answers.set(path, wallClockMs());
    });
  });
}

async function askAll({ port, paths, encodings }: Extract<ToPollClients, { kind: 'open' }>): Promise<void> {
  const left = paths.values();
  await Promise.all(
    Array.from({ length: OPENED_AT_ONCE }, async () => {
      for (const path of left) await ask(port, path, encodings);
    }),
  );
}

process.on('message', (message: ToPollClients) => {
  if (message.kind === 'open') void askAll(message).then(() => say({ kind: 'asked' }));
  if (message.kind === 'leave') {
    for (const [path, socket] of [...open].slice(0, message.count)) {
      socket.destroy();
      open.delete(path);
    }
    say({ kind: 'left' });
  }
  if (message.kind === 'report') say({ kind: 'answers', answers: [...answers] });
});
// Ends with its parent process.
process.on('disconnect', () => process.exit());
