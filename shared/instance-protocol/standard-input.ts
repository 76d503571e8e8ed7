import { fstatSync } from 'node:fs';
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import type { Readable } from 'node:stream';

const PIECE_BYTES = 64 * 1024;

/**
 * Reads this process's standard input to its end. Each piece is good until `take` returns. A pipe or socket is read
 * into one buffer: a readable stream costs more for each piece than an instance program does with it.
 */
export function readStandardInput(take: (piece: Buffer) => void, end: () => void): void {
  const input = fstatSync(0);
  if (!input.isFIFO() && !input.isSocket()) {
    readStream(process.stdin, take, end);
    return;
  }
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  const callback = (bytesRead: number): boolean => {
    take(buffer.subarray(0, bytesRead));
    return true;
  };
  const options: SocketConstructorOpts & { onread: OnReadOpts } = {
    fd: 0,
    readable: true,
    writable: false,
    onread: { buffer, callback },
  };
  const socket = new Socket(options);
  socket.once('end', end);
  // The other side is gone without closing it.
  socket.once('error', end);
}

/** Reads any other stream. */
export function readStream(stream: Readable, take: (piece: Buffer) => void, end: () => void): void {
  stream.on('data', take);
  stream.once('end', end);
  stream.once('error', end);
}
