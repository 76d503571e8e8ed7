import { expect, it } from 'vitest';
import { DatabaseFault, type DatabaseFaultKind } from './database-fault.js';
import { isFinal, retryDelays } from './retry-policy.js';

it('delays double from 20 ms up to a second', () => {
  const delays = retryDelays();
  expect(Array.from({ length: 8 }, () => delays.nextMs())).toEqual([20, 40, 80, 160, 320, 640, 1000, 1000]);
});

it.each<[DatabaseFaultKind, boolean]>([
  ['REFUSED', true],
  ['FULL_DISK', true],
  ['NO_RIGHTS', true],
  ['BROKEN', false],
  ['CONFLICT', false],
  ['TIMEOUT', false],
])('a fault of the kind %s is final: %s', (kind, expected) => {
  const fault = new DatabaseFault(kind, new Error(), { location: 'db', isOutcomeUnknown: false });
  expect(isFinal(fault)).toBe(expected);
});
