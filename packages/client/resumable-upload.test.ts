import { afterEach, expect, it, vi } from 'vitest';
import { Connection } from './connection.js';
import { sendInParts } from './resumable-upload.js';

afterEach(() => {
  vi.useRealTimers();
});

const MINUTE_MS = 60_000;

it('waits for a hub that works on the end of the upload for minutes, and sends nothing again', async () => {
  vi.useFakeTimers();
  const doneAtMs = Date.now() + 10 * MINUTE_MS;
  const methods: string[] = [];
  const upload = {
    id: 'u',
    name: 'gear',
    size: 3,
    overwrite: false,
    encrypt: false,
    received: 0,
    stored: false,
  };
  const connection = new Connection({
    url: 'http://hub.example',
    credentials: undefined,
    fetch: async (_, { method = 'GET' } = {}) => {
      methods.push(method);
      if (method === 'POST') return Response.json(upload, { status: 201 });
      if (method === 'PATCH') throw new TypeError('the connection broke');
      if (Date.now() >= doneAtMs) return Response.json({ ...upload, received: 3, stored: true });
      const headers = { 'x-error-code': 'UPLOAD_IN_PROGRESS' };
      return Response.json({ message: 'the hub works on its end' }, { status: 423, headers });
    },
  });
  const sent = sendInParts(connection, {
    name: 'gear',
    content: new Blob(['abc']),
    digest: undefined,
    overwrite: false,
    encrypt: false,
  });
  const isSent = expect(sent).resolves.toBe(true);
  await vi.advanceTimersByTimeAsync(11 * MINUTE_MS);
  await isSent;
  expect(methods.filter((method) => method !== 'GET')).toEqual(['POST', 'PATCH']);
});
