import { afterEach, expect, it, vi } from 'vitest';
import { Hub } from './hub.js';

afterEach(() => {
  vi.useRealTimers();
});

/** A hub that answers with these studies, and fails where there is an error or a status. */
function hubOf(answers: (object | Error | number)[]): Hub {
  const send = async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    if (typeof answer === 'number') return new Response('<html>', { status: answer });
    return Response.json(answer);
  };
  return new Hub({ url: 'http://hub.example', fetch: send, retryDelaysMs: [] });
}

it('the wait for a study lasts over a restart of the hub', async () => {
  vi.useFakeTimers();
  const running = { state: 'RUNNING', points: { open: 1 } };
  const finished = { state: 'FINISHED', points: { open: 0 } };
  const hub = hubOf([running, 503, new TypeError('fetch failed'), 502, 504, finished]);
  const seen: unknown[] = [];
  const waiting = hub.study('1').wait({ onChange: ({ state }) => seen.push(state) });
  const [ended] = await Promise.all([waiting, vi.advanceTimersByTimeAsync(60_000)]);
  expect(ended).toEqual(finished);
  expect(seen).toEqual(['RUNNING', 'FINISHED']);
});

it('the wait for a study fails at once while there is no hub', async () => {
  await expect(hubOf([503]).study('1').wait()).rejects.toMatchObject({ status: 503 });
});
