import { afterEach, expect, it, vi } from 'vitest';
import { Hub } from './hub.js';

afterEach(() => {
  vi.useRealTimers();
});

it('the end of a task comes without a stream, too', async () => {
  vi.useFakeTimers();
  const seenByHub = ['WAITING', 'WAITING', 503, 'RUNNING', 'RUNNING', 'FINISHED'];
  const asked: string[] = [];
  const send = async (address: string | URL | Request) => {
    const { pathname } = new URL(String(address));
    asked.push(pathname);
    if (pathname === '/api/x/events')
      return Response.json(
        { message: 'ulla has 16 streams of events open' },
        { status: 429, headers: { 'x-error-code': 'TOO_MANY_STREAMS', 'retry-after': '5' } },
      );
    if (pathname === '/api/x/tasks/1') return Response.json({ id: '1', status: 'FINISHED' });
    const status = seenByHub.shift();
    if (typeof status === 'number') return Response.json({ message: 'starting' }, { status });
    return Response.json({ tasks: [{ id: '1', status }], cursor: 'a.1' });
  };
  const hub = new Hub({ url: 'http://hub.example', fetch: send as typeof fetch });
  const seen: unknown[] = [];
  const waiting = hub.task('1').wait({ onChange: ({ status }) => seen.push(status) });
  const [ended] = await Promise.all([waiting, vi.advanceTimersByTimeAsync(60_000)]);
  expect(ended.status).toBe('FINISHED');
  expect(seen).toEqual(['WAITING', 'RUNNING', 'FINISHED']);
  expect(asked.filter((path) => path === '/api/x/events')).toHaveLength(1);
});

/** Refusal of a hub at which a user has as many streams as there may be. */
function tooMany(): Response {
  return Response.json(
    { message: 'ulla follows 64 logs' },
    { status: 429, headers: { 'x-error-code': 'TOO_MANY_STREAMS', 'retry-after': '5' } },
  );
}

/** Findings of each reading of the log: status and attempt of the task, offset and text of the part. */
type Reading = readonly [status: string, attempt: number, offset: number, text: string];

/** A hub that follows no log after this one of its streams, and whose task changes after each reading of its log. */
function hubWithoutStreams(readings: Reading[], firstStream?: string) {
  const asked: string[] = [];
  let stream = firstStream;
  const send = async (address: string | URL | Request) => {
    const { pathname, search } = new URL(String(address));
    const [status, attempt, offset, text] = readings[0] as Reading;
    if (pathname === '/api/x/tasks/1') return Response.json({ id: '1', status, attempt });
    asked.push(pathname + search);
    if (pathname === '/api/x/tasks/1/log') {
      const answer = stream === undefined ? tooMany() : new Response(stream);
      stream = undefined;
      return answer;
    }
    if (readings.length > 1) readings.shift();
    const headers = { 'log-offset': String(offset) };
    return text === '' ? new Response(null, { status: 204 }) : new Response(text, { headers });
  };
  return { hub: new Hub({ url: 'http://hub.example', fetch: send as typeof fetch }), asked };
}

async function logOf(hub: Hub): Promise<unknown[]> {
  const events: unknown[] = [];
  const reading = (async () => {
    for await (const event of hub.task('1').log()) events.push(event);
  })();
  await Promise.all([reading, vi.advanceTimersByTimeAsync(60_000)]);
  return events;
}

it('the log of a task is read at intervals when its user follows as many as there may be', async () => {
  vi.useFakeTimers();
  const { hub, asked } = hubWithoutStreams([
    ['RUNNING', 1, 0, 'of another attempt'],
    ['RUNNING', 2, 0, 'a'],
    ['RUNNING', 2, 0, 'a'],
    ['RUNNING', 2, 4, 'b'],
    ['RUNNING', 2, 5, 'cut by the end'],
    ['FINISHED', 2, 0, 'axyzbcd'],
  ]);
  expect(await logOf(hub)).toEqual([
    { type: 'attempt', attempt: 2 },
    { type: 'output', attempt: 2, offset: 0, text: 'a' },
    { type: 'skipped', attempt: 2, offset: 1, to: 4 },
    { type: 'output', attempt: 2, offset: 4, text: 'b' },
    { type: 'output', attempt: 2, offset: 5, text: 'cd' },
    { type: 'end', status: 'FINISHED' },
  ]);
  expect(asked.filter((path) => path.startsWith('/api/x'))).toHaveLength(1);
});

it('the log goes on by readings where its stream ended', async () => {
  vi.useFakeTimers();
  const { hub } = hubWithoutStreams(
    [['FINISHED', 1, 0, 'onetwo']],
    'event: attempt\ndata: {"attempt":1}\n\nevent: output\ndata: {"attempt":1,"offset":0,"text":"one"}\n\n',
  );
  expect(await logOf(hub)).toEqual([
    { type: 'attempt', attempt: 1 },
    { type: 'output', attempt: 1, offset: 0, text: 'one' },
    { type: 'output', attempt: 1, offset: 3, text: 'two' },
    { type: 'end', status: 'FINISHED' },
  ]);
});
