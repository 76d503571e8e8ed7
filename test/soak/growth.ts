/** Verdict over the counts of a soak run: whether one grows that must be constant. */

/** How far a count may rise without being taken for growth: by the larger of both. */
export interface Tolerance {
  readonly absolute: number;
  /** Fraction of the count at the beginning. */
  readonly share: number;
}

/** A count in one round. */
interface Sample {
  /** Life of the process that was counted, which begins anew with each start; the same in all rounds for what outlives processes. */
  readonly life: string;
  readonly atS: number;
  readonly value: number;
}

export interface Series {
  readonly name: string;
  readonly tolerance: Tolerance;
  /** In the order of the rounds. */
  readonly samples: readonly Sample[];
}

type Verdict = 'constant' | 'GROWS' | 'too short' | `keeps ${string}`;

export interface Judged {
  readonly name: string;
  /** Medians at the beginning and at the end of the judged life; when none was long enough, the first and the last count. */
  readonly begin: number | undefined;
  readonly end: number | undefined;
  /** Number of rounds of that life, or of all. */
  readonly rounds: number;
  readonly verdict: Verdict;
}

/** Rounds at the begin of a life that are not judged, since caches fill. */
const WARM_UP = 2;
/** Rounds and time that a life needs after that; hubs sweep once a minute. */
const MIN_ROUNDS = 6;
const MIN_S = 150;
/** Part of the tolerance by which growth must go on in the second half; a cache that has filled stays as it is. */
const GOES_ON = 1 / 3;

/**
 * Judges each life of a process by itself, and returns the one that rises most. A count grows when the median of the last third of the rounds is
 * above that of the first third by more than the tolerance, and above that of the middle third by a part of it.
 */
export function judge({ name, tolerance, samples }: Series): Judged {
  const lives = livesOf(samples);
  const [first, last] = [samples[0]?.value, samples.at(-1)?.value];
  let worst: Judged = { name, begin: first, end: last, rounds: samples.length, verdict: 'too short' };
  for (const life of lives) {
    const judged = life.slice(WARM_UP);
    const forS = (judged.at(-1)?.atS ?? 0) - (judged[0]?.atS ?? 0);
    if (judged.length < MIN_ROUNDS || forS < MIN_S) continue;
    const values = judged.map(({ value }) => value);
    const third = Math.floor(values.length / 3);
    const begin = median(values.slice(0, third));
    const middle = median(values.slice(third, values.length - third));
    const end = median(values.slice(values.length - third));
    const allowed = Math.max(tolerance.absolute, tolerance.share * begin);
    const grows = end - begin > allowed && end - middle > allowed * GOES_ON;
    const found: Judged = { name, begin, end, rounds: life.length, verdict: grows ? 'GROWS' : 'constant' };
    if (isWorse(found, worst)) worst = found;
  }
  return worst;
}

function isWorse(judged: Judged, than: Judged): boolean {
  if (than.verdict === 'too short') return true;
  if (judged.verdict !== than.verdict) return judged.verdict === 'GROWS';
  return rise(judged) > rise(than);
}

const rise = ({ begin = 0, end = 0 }: Judged) => end - begin;

function livesOf(samples: readonly Sample[]): Iterable<Sample[]> {
  const lives = new Map<string, Sample[]>();
  for (const sample of samples) lives.set(sample.life, [...(lives.get(sample.life) ?? []), sample]);
  return lives.values();
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[sorted.length >> 1] as number;
  const lower = sorted[(sorted.length - 1) >> 1] as number;
  return (lower + upper) / 2;
}
