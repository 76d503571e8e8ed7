import { expect, it } from 'vitest';
import type { Database, Statement } from '../connection/pool.js';
import { requirementIds } from './requirement-ids.js';

it('keeps the ids of the latest keys, up to some megabytes of them', async () => {
  let asked = 0;
  const rows = async ({ text }: Statement, values: readonly unknown[] = []) => {
    if (!text.startsWith('SELECT')) return [];
    asked++;
    return (values[0] as readonly string[]).map((digest, id) => ({ digest, id }));
  };
  const ids = requirementIds({ rows } as unknown as Database);
  const keyOf = (number: number) => `${number} `.padEnd(900_000, 'x');
  for (const number of [1, 2, 3, 4]) await ids.of([keyOf(number)]);
  expect((await ids.of([1, 2, 3, 4].map(keyOf))).size).toBe(4);
  expect(asked).toBe(4);
  await ids.of([keyOf(5)]);
  await ids.of([keyOf(5)]);
  expect(asked).toBe(5);
  await ids.of([keyOf(1)]);
  expect(asked).toBe(6);
});
