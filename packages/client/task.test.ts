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
