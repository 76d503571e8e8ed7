import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { type ManualRuntime, manualRuntime } from '../runtime/manual-runtime.js';
import { askStatus } from './link-status.js';

let server: WebSocketServer;
let runtime: ManualRuntime;
/** Resolves with the connection of the question. */
let asked: Promise<WebSocket>;

beforeEach(async () => {
  runtime = manualRuntime();
  server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  asked = new Promise((resolve) => server.once('connection', resolve));
  await new Promise((resolve) => server.once('listening', resolve));
});

afterEach(() => {
  for (const client of server.clients) client.terminate();
  server.close();
});

const ask = (signal?: AbortSignal) =>
  askStatus(
    `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    {
      agentId: 'berlin',
      secret: { read: async () => 'token', advice: '' },
      tls: async () => ({}),
      runtime,
    },
    signal,
  );
const closed = (socket: WebSocket) => new Promise((resolve) => socket.once('close', resolve));

it('a hub that says nothing after the handshake is unreachable, and its connection is ended', async () => {
  const answer = ask();
  const isEnded = closed(await asked);
  await vi.waitFor(() => expect(runtime.pendingTimers).toBe(1), { timeout: 20_000 });
  await runtime.advance(15_000);
  expect(await answer).toMatchObject({
    kind: 'UNREACHABLE',
    reason: 'the hub does not tell its status within 15 s',
  });
  await isEnded;
});

it('a stop ends the question, whether the hub has accepted the connection or not', async () => {
  const stop = new AbortController();
  const answer = ask(stop.signal);
  const isEnded = closed(await asked);
  stop.abort(new Error('the hub is stopping'));
  expect(await answer).toMatchObject({ kind: 'UNREACHABLE', reason: 'the hub is stopping' });
  await isEnded;
  expect(await ask(stop.signal)).toMatchObject({ kind: 'UNREACHABLE', reason: 'the hub is stopping' });
  expect(runtime.pendingTimers).toBe(0);
});

it('an early hub, which closes the connection without a word, has answered', async () => {
  const answer = ask();
  (await asked).close();
  expect(await answer).toEqual({ kind: 'ANSWERED', status: undefined, offsetMs: 0 });
  expect(runtime.pendingTimers).toBe(0);
});
