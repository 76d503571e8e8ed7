import { describe, expect, it } from 'vitest';
import { CountedChunks, KEPT_FILTERS } from './chunks.js';

describe('the counts of filters', () => {
  it('are kept for the filters that were used last', () => {
    const counted = new CountedChunks();
    counted.of('first').set(7, [1]);
    counted.of('second').set(7, [2]);
    for (let filter = 2; filter < KEPT_FILTERS; filter++) counted.of(`filter ${filter}`);
    counted.of('first');
    counted.of('one more');
    expect(counted.of('first').get(7)).toEqual([1]);
    expect(counted.of('second').get(7)).toBeUndefined();
  });

  it('are forgotten for chunks that have changed, in all filters', () => {
    const counted = new CountedChunks();
    for (const filter of ['first', 'second']) counted.of(filter).set(7, [1]).set(8, [2]);
    counted.forget([7]);
    for (const filter of ['first', 'second']) expect([...counted.of(filter).keys()]).toEqual([8]);
  });
});
