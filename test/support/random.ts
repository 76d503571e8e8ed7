/** Random numbers that are the same for the same seed, so that failures repeat. */
export interface SeededRandom {
  /** A number from 0 up to 1, 1 excluded. */
  next(): number;
  /** An integer from 0 up to `limit`, `limit` excluded. */
  below(limit: number): number;
  /** True once in `times` on average. */
  oneIn(times: number): boolean;
  of<T>(items: readonly T[]): T;
}

/** Mulberry32. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    oneIn: (times) => below(times) === 0,
    of: <T>(items: readonly T[]) => items[below(items.length)] as T,
  };
}
