import { describe, expect, test } from 'vitest';
import { TailBuffer } from './tail-buffer.js';

describe('a tail', () => {
  test('keeps all of a short text', () => {
    const tail = new TailBuffer(10);
    tail.push('one\n');
    tail.push('two\n');
    expect([tail.start, tail.end, tail.from(0), tail.from(4), tail.lines()]).toEqual([
      0,
      8,
      'one\ntwo\n',
      'two\n',
      'one\ntwo\n',
    ]);
  });

  test('keeps the end of a long text, by position', () => {
    const tail = new TailBuffer(10);
    for (let i = 0; i < 100; i++) tail.push(`${i % 10}${i % 10}${i % 10}\n`);
    expect(tail.end).toBe(400);
    expect(tail.start).toBeGreaterThanOrEqual(388);
    expect(tail.from(0)).toBe('7\n888\n999\n'.slice(-10));
    expect(tail.from(396)).toBe('999\n');
    expect(tail.from(400)).toBe('');
    expect(tail.lines()).toBe('888\n999\n');
  });

  test('accepts a piece longer than itself', () => {
    const tail = new TailBuffer(4);
    tail.push('a'.repeat(1000));
    tail.push('b');
    expect(tail.from(0)).toBe('aaab');
    expect(tail.end - tail.start).toBeLessThanOrEqual(5);
  });
});
