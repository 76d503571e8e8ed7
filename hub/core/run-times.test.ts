import { describe, expect, it } from 'vitest';
import { RunTimeBook } from './run-times.js';

describe('RunTimeBook', () => {
  it('returns nothing before five runs of a key', () => {
    const book = new RunTimeBook();
    for (let run = 0; run < 4; run++) book.add('a', 10);
    expect(book.of('a')).toBeNull();
    book.add('a', 10);
    expect(book.of('a')).toEqual({ lowMs: 10, medianMs: 10, highMs: 10, count: 5 });
    expect(book.of('b')).toBeNull();
  });

  it('summarizes the latest hundred runs', () => {
    const book = new RunTimeBook();
    for (let run = 0; run < 50; run++) book.add('a', 1_000_000);
    for (let run = 1; run <= 100; run++) book.add('a', run);
    expect(book.of('a')).toEqual({ lowMs: 11, medianMs: 51, highMs: 91, count: 100 });
  });

  it('forgets the least recently seen key when there are more than a thousand', () => {
    const book = new RunTimeBook();
    for (let run = 0; run < 5; run++) book.add('kept', 1);
    for (let run = 0; run < 5; run++) book.add('old', 1);
    for (let key = 0; key < 998; key++) book.add(`key ${key}`, 1);
    book.add('kept', 1);
    book.add('one more', 1);
    expect(book.of('old')).toBeNull();
    expect(book.of('kept')?.count).toBe(6);
  });
});
