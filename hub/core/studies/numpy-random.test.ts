import { describe, expect, it } from 'vitest';
import { NumpyRandom } from './numpy-random.js';

/** Numbers in a row from one generator. */
function times<T>(count: number, draw: () => T): T[] {
  return Array.from({ length: count }, draw);
}

// The numbers are written by NumPy 2.4.6, and the same by NumPy 1.24.2.
describe('the generator of NumPy', () => {
  it.each([
    [0, [0.6369616873214543, 0.2697867137638703, 0.04097352393619469]],
    [12345, [0.22733602246716966, 0.31675833970975287, 0.7973654573327341]],
    [2 ** 32, [0.8897387912781343, 0.5571380502062263, 0.8009080868919721]],
    [2 ** 53 - 1, [0.7862681066761149, 0.6063032385025929, 0.5376094823800641]],
  ])('gives the numbers of default_rng(%d).random(3)', (seed, numbers) => {
    const random = new NumpyRandom(seed);
    expect(times(3, () => random.random())).toEqual(numbers);
  });

  it.each([
    [0, [4, 6, 2, 7, 3, 5, 9, 0, 8, 1]],
    [7, [3, 16, 6, 8, 1, 10, 0, 7, 4, 15, 14, 13, 2, 12, 5, 9, 11]],
  ])('shuffles like default_rng(%d)', (seed, shuffled) => {
    const values = Uint32Array.from(shuffled, (_, index) => index);
    new NumpyRandom(seed).shuffle(values);
    expect([...values]).toEqual(shuffled);
  });

  it('keeps the half of an output for the next bit, though other numbers are drawn between', () => {
    const random = new NumpyRandom(3);
    expect(times(9, () => random.bit())).toEqual([1, 0, 0, 0, 0, 1, 1, 1, 0]);
    expect(times(2, () => random.random())).toEqual([0.4331269402364738, 0.479051298140834]);
    expect(times(5, () => random.bit())).toEqual([0, 0, 0, 1, 1]);
  });

  it('has nothing to shuffle in one value or none', () => {
    const random = new NumpyRandom(0);
    random.shuffle(new Uint32Array(0));
    random.shuffle(new Uint32Array(1));
    expect(random.random()).toBe(0.6369616873214543);
  });
});
