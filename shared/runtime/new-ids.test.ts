import { validate, version } from 'uuid';
import { expect, test } from 'vitest';
import { newIds } from './new-ids.js';

test('identifiers are UUIDv7, differ, and are in the order of creation, also when the clock is set back', () => {
  let nowMs = Date.UTC(2026, 0, 1);
  const newId = newIds(() => nowMs);
  const ids: string[] = [];
  for (const changeMs of [0, 1, 1, -3_600_000, 0, 7_200_000]) {
    nowMs += changeMs;
    for (let count = 0; count < 1000; count++) ids.push(newId());
  }
  expect(ids.every((id) => validate(id) && version(id) === 7)).toBe(true);
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test('identifiers carry the time of their creation', () => {
  const atMs = Date.UTC(2026, 10, 21, 6, 53);
  const id = newIds(() => atMs)();
  expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(atMs);
});

test('identifiers of two sources differ', () => {
  expect(newIds(() => 1)()).not.toBe(newIds(() => 1)());
});
