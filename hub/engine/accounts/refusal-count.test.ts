import { describe, expect, it } from 'vitest';
import { RefusalCount } from './refusal-count.js';

let nowMs = 0;
const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };

function count(times: number, address: string | null, of = new RefusalCount(clock, LIMIT)): RefusalCount {
  for (let at = 0; at < times; at++) of.add(address);
  return of;
}

const LIMIT = { max: 3, withinMs: 60_000 };

describe('RefusalCount', () => {
  it('accepts an address up to the limit, and then returns how long it has to wait', () => {
    const refusals = count(2, '192.0.2.1');
    expect(refusals.waitS('192.0.2.1')).toBe(0);
    nowMs += 20_000;
    refusals.add('192.0.2.1');
    expect(refusals.waitS('192.0.2.1')).toBe(40);
    expect(refusals.waitS('192.0.2.2')).toBe(0);
  });

  it('starts again when the period has passed', () => {
    const refusals = count(5, '192.0.2.1');
    nowMs += 60_000;
    expect(refusals.waitS('192.0.2.1')).toBe(0);
    count(2, '192.0.2.1', refusals);
    expect(refusals.waitS('192.0.2.1')).toBe(0);
  });

  it('tells whole seconds of a long period', () => {
    const refusals = new RefusalCount(clock, { ...LIMIT, withinMs: 3_600_000 });
    count(3, '192.0.2.1', refusals);
    expect(refusals.waitS('192.0.2.1')).toBe(3600);
    nowMs += 1;
    expect(refusals.waitS('192.0.2.1')).toBe(3600);
    nowMs += 999;
    expect(refusals.waitS('192.0.2.1')).toBe(3599);
  });

  it('counts a thousand addresses separately, and all others together', () => {
    const refusals = new RefusalCount(clock, LIMIT);
    for (let at = 0; at < 5000; at++) refusals.add(`198.51.100.${at}`);
    expect(refusals.waitS('198.51.100.7')).toBe(0);
    expect(refusals.waitS('203.0.113.1')).toBe(60);
    count(3, '198.51.100.7', refusals);
    expect(refusals.waitS('198.51.100.7')).toBe(60);
  });
});
