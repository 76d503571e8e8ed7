import { afterEach, expect, it, vi } from 'vitest';
import { Connection } from './connection.js';
import { eventStream } from './event-stream.js';

afterEach(() => {
  vi.useRealTimers();
});

/** A hub that answers the first request with one event, and says nothing more, nor to later ones. */
function hubThatFallsSilent(): { readonly fetch: typeof fetch; readonly asked: () => number } {
  let asked = 0;
  const silentFetch = (_: unknown, { signal }: RequestInit = {}) => {
    asked++;
    if (asked > 1)
      return new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('id: 1\ndata: first\n\n'));
        signal?.addEventListener('abort', () => controller.error(signal.reason));
      },
    });
    return Promise.resolve(new Response(body));
  };
  return { fetch: silentFetch as typeof fetch, asked: () => asked };
}

it('tells of a hub that falls silent, and goes on to try', async () => {
  vi.useFakeTimers();
  const told: string[] = [];
  const { fetch, asked } = hubThatFallsSilent();
  const connection = new Connection({
    url: 'http://hub.example',
    credentials: undefined,
    fetch,
    onRetry: ({ message }) => told.push(message),
  });
  const end = new AbortController();
  const events = eventStream(connection, '/api/x/events', { signal: end.signal });
  expect((await events.next()).value).toMatchObject({ data: 'first' });
  const more = events.next();
  const ended = expect(more).rejects.toThrow('enough');
  const silence = 'the hub at http://hub.example does not answer: it has said nothing for 45 s';
  await vi.advanceTimersByTimeAsync(46_000);
  expect(told).toEqual([silence]);
  await vi.advanceTimersByTimeAsync(46_000);
  expect(told).toEqual([silence, silence]);
  expect(asked()).toBe(3);
  end.abort(new Error('enough'));
  await vi.advanceTimersByTimeAsync(1);
  await ended;
});

/** A connection to a hub that gives these responses, and the places after which it is asked to go on. */
function connectionAnsweredBy(answers: Response[]): {
  readonly connection: Connection;
  readonly after: unknown[];
} {
  const after: unknown[] = [];
  const connection = new Connection({
    url: 'http://hub.example',
    credentials: undefined,
    fetch: async (_, { headers } = {}) => {
      after.push((headers as Record<string, string>)['last-event-id']);
      return answers.shift() as Response;
    },
    retryDelaysMs: [],
  });
  return { connection, after };
}

it('goes on after a restart that lasts longer than the tries of a request', async () => {
  vi.useFakeTimers();
  const { connection, after } = connectionAnsweredBy([
    new Response('id: 1\ndata: first\n\n'),
    ...[502, 503, 504, 503].map((status) => new Response('<html>', { status })),
    new Response('id: 2\ndata: second\n\n'),
  ]);
  const events = eventStream(connection, '/api/x/events');
  expect((await events.next()).value).toMatchObject({ data: 'first' });
  const [more] = await Promise.all([events.next(), vi.advanceTimersByTimeAsync(60_000)]);
  expect(more.value).toMatchObject({ data: 'second' });
  expect(after).toEqual([undefined, '1', '1', '1', '1', '1']);
});

it('goes on after the place that a comment has told, and tells it', async () => {
  vi.useFakeTimers();
  const { connection, after } = connectionAnsweredBy([
    new Response('id: 1\ndata: first\n\n: alive\nid: 7\n\n'),
    new Response('id: 8\ndata: second\n\n'),
  ]);
  const told: string[] = [];
  const events = eventStream(connection, '/api/x/events', { onId: (id) => told.push(id) });
  expect((await events.next()).value).toMatchObject({ data: 'first' });
  const [more] = await Promise.all([events.next(), vi.advanceTimersByTimeAsync(10_000)]);
  expect(more.value).toMatchObject({ data: 'second' });
  expect(after).toEqual([undefined, '7']);
  expect(told).toEqual(['7']);
});

it('waits for a stream that its user has one too many of', async () => {
  vi.useFakeTimers();
  const headers = { 'x-error-code': 'TOO_MANY_STREAMS', 'retry-after': '5' };
  const tooMany = () => Response.json({ message: 'ulla has 16 streams' }, { status: 429, headers });
  const answers = [new Response('data: first\n\n'), tooMany(), tooMany(), new Response('data: second\n\n')];
  const told: string[] = [];
  const connection = new Connection({
    url: 'http://hub.example',
    credentials: undefined,
    fetch: async () => answers.shift() as Response,
    retryDelaysMs: [],
    onRetry: ({ message }) => told.push(message),
  });
  const events = eventStream(connection, '/api/x/events');
  expect((await events.next()).value).toMatchObject({ data: 'first' });
  const more = events.next();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(answers).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1000);
  expect((await more).value).toMatchObject({ data: 'second' });
  expect(told).toEqual(['ulla has 16 streams', 'ulla has 16 streams']);
});

it('ends by a refusal that is final, without another try', async () => {
  const headers = { 'x-error-code': 'TOO_MANY_STREAMS' };
  let asked = 0;
  const connection = new Connection({
    url: 'http://hub.example',
    credentials: undefined,
    fetch: async () => {
      asked++;
      return Response.json({ message: 'ulla has 16 streams' }, { status: 429, headers });
    },
  });
  const events = eventStream(connection, '/api/x/events', { finalCode: 'TOO_MANY_STREAMS' });
  await expect(events.next()).rejects.toMatchObject({ code: 'TOO_MANY_STREAMS' });
  expect(asked).toBe(1);
});
