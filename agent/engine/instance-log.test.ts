import { describe, expect, it } from 'vitest';
import { InstanceLog } from './instance-log.js';

const CLOCK = { nowMs: () => 0, monotonicMs: () => 0 };
const KEPT_LENGTH = 256 * 1024;

describe('the latest output of an instance', () => {
  it('has the position of its first unit, from the beginning on', () => {
    const log = new InstanceLog(CLOCK);
    expect(log.latest('stdout')).toEqual({ text: '', offset: 0 });
    log.print('stdout', 'größe 😀\n');
    log.print('stderr', 'oh\n');
    expect(log.latest('stdout')).toEqual({ text: 'größe 😀\n', offset: 0 });
    expect(log.latest('console')).toEqual({ text: 'größe 😀\noh\n', offset: 0 });
  });

  it('has the position of the first line that is kept whole', () => {
    const log = new InstanceLog(CLOCK);
    const lines = Array.from({ length: 60_000 }, (_, line) => `line ${line}\n`);
    for (const line of lines) log.print('stdout', line);
    const { text, offset } = log.latest('stdout');
    expect(offset).toBeGreaterThan(0);
    expect(text.length).toBeLessThanOrEqual(KEPT_LENGTH);
    expect(lines.join('').slice(offset)).toBe(text);
    expect(text).toMatch(/^line /);
  });
});
