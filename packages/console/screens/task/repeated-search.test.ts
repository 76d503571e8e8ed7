import { afterEach, expect, it, vi } from 'vitest';
import { RepeatedSearch } from './repeated-search.js';

afterEach(() => {
  vi.useRealTimers();
});

/** Searches, each of which ends when the test says so with how often it was asked for. */
function searches() {
  const ends: (() => void)[] = [];
  const found: (readonly number[])[] = [];
  let count = 0;
  const search = new RepeatedSearch(
    () => {
      const number = ++count;
      return new Promise((resolve) => ends.push(() => resolve([number])));
    },
    (hits) => found.push(hits),
  );
  return { search, ends, found };
}

it('tells what it has found though text is added all the time, and then searches once more', async () => {
  const { search, ends, found } = searches();
  void search.again();
  for (let added = 0; added < 5; added++) void search.again();
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await expect.poll(() => found).toEqual([[1]]);
  await expect.poll(() => ends).toHaveLength(2);
  ends[1]?.();
  await expect.poll(() => found).toEqual([[1], [2]]);
  expect(ends).toHaveLength(2);
});

it.each([
  [600, 600],
  [60_000, 10_000],
])('rests after a search of %i ms for %i ms', async (tookMs, restMs) => {
  vi.useFakeTimers();
  const { search, ends } = searches();
  void search.again();
  void search.again();
  await vi.advanceTimersByTimeAsync(tookMs);
  ends[0]?.();
  await vi.advanceTimersByTimeAsync(restMs - 1);
  expect(ends).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(ends).toHaveLength(2);
});

it('tells of nothing when it is closed', async () => {
  const { search, ends, found } = searches();
  const done = search.again();
  search.close();
  ends[0]?.();
  await done;
  expect(found).toEqual([]);
});
