/** Backoff: growing delays with jitter. */
export interface BackOff {
  /** Next delay in milliseconds: doubles at each call up to `maxMs`, with a random part of up to half of it. */
  nextMs(): number;
  /** Resets to the shortest delay, after a success. */
  reset(): void;
}

/** Backoff that begins with `firstMs`; `random` returns a number from 0 up to 1. */
export function backOff(firstMs: number, maxMs: number, random: () => number): BackOff {
  let ceilingMs = firstMs;
  return {
    nextMs() {
      const pauseMs = ceilingMs / 2 + (random() * ceilingMs) / 2;
      ceilingMs = Math.min(ceilingMs * 2, maxMs);
      return pauseMs;
    },
    reset() {
      ceilingMs = firstMs;
    },
  };
}
