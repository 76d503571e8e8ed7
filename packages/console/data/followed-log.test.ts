import { expect, it } from 'vitest';
import { followLog, type LogPart, type LogPlace } from './followed-log.js';

/** Content of a reader after these responses, and its requests. */
async function shownAfter(responses: (LogPart | Error)[]) {
  const stopping = new AbortController();
  const places: LogPlace[] = [];
  const errors: (string | undefined)[] = [];
  let shown = '';
  await followLog(
    {
      async read(place) {
        places.push(place);
        const response = responses.shift();
        if (response instanceof Error) throw response;
        if (response === undefined) throw new Error('asked too often');
        return response;
      },
      onText: (text, isAnew) => {
        shown = isAnew ? text : shown + text;
      },
      onError: (error) => errors.push(error?.message),
      pause: async () => {
        if (responses.length === 0) stopping.abort();
      },
    },
    stopping.signal,
  );
  return { shown, places, errors };
}

it('begins with the latest lines and continues at the position after them', async () => {
  const { shown, places } = await shownAfter([
    { text: 'a\n', offset: 10, next: 12 },
    { text: '', offset: 12, next: 12 },
    { text: 'b\n', offset: 12, next: 14 },
  ]);
  expect(shown).toBe('a\nb\n');
  expect(places).toEqual([{ tail: 10_000 }, { offset: 12 }, { offset: 12 }]);
});

it('shows only the new log when it has begun anew', async () => {
  const { shown } = await shownAfter([
    { text: 'old\n', offset: 0, next: 4 },
    { text: 'x\n', offset: 0, next: 2 },
  ]);
  expect(shown).toBe('x\n');
});

it('shows a log without positions whole, once', async () => {
  const whole = { offset: undefined, next: undefined };
  const { shown } = await shownAfter([
    { text: 'a\n', ...whole },
    { text: 'a\nb\n', ...whole },
  ]);
  expect(shown).toBe('a\nb\n');
});

it('keeps its place over a failure', async () => {
  const { shown, places, errors } = await shownAfter([
    { text: 'a\n', offset: 0, next: 2 },
    new Error('away'),
    { text: 'b\n', offset: 2, next: 4 },
  ]);
  expect(shown).toBe('a\nb\n');
  expect(errors).toEqual([undefined, 'away', undefined]);
  expect(places.at(-1)).toEqual({ offset: 2 });
});
