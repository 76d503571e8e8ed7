import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { Types } from './types.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

it('a changed text fits if it compiles in its project', () => {
  const types = new Types(ROOT);
  const file = 'shared/domain/priority.ts';
  expect(types.fit(file, 'export const a: number = 1;')).toBe(true);
  expect(types.fit(file, "export const a: number = '1';")).toBe(false);
  expect(types.fit(file, 'export const a: number = ;')).toBe(false);
  expect(types.fit(file, 'export const a: number = 2;')).toBe(true);
});
