import { describe, expect, it } from 'vitest';
import { judge, type Tolerance } from './growth.js';

const TOLERANCE: Tolerance = { absolute: 10, share: 0.05 };
const ROUND_S = 30;

/** Judges one count with these values in successive rounds; `lives` has the life of each, by default one for all. */
function judged(values: readonly number[], lives: readonly string[] = []) {
  const samples = values.map((value, at) => ({ life: lives[at] ?? 'one', atS: at * ROUND_S, value }));
  return judge({ name: 'entries', tolerance: TOLERANCE, samples });
}

const rounds = <T>(count: number, value: (round: number) => T) =>
  Array.from({ length: count }, (_, round) => value(round));

describe('a count', () => {
  it('grows when each round leaves something behind', () => {
    expect(judged(rounds(20, (round) => 100 + 2 * round))).toEqual({
      name: 'entries',
      begin: 109,
      end: 133,
      rounds: 20,
      verdict: 'GROWS',
    });
  });

  it('grows also when it goes up and down meanwhile', () => {
    const noise = [0, 9, 3, 7, 1];
    const { verdict } = judged(rounds(30, (round) => 100 + 2 * round + (noise[round % 5] as number)));
    expect(verdict).toBe('GROWS');
  });

  it('is constant when it stays, and when it only goes up and down', () => {
    expect(judged(rounds(20, () => 500)).verdict).toBe('constant');
    expect(judged(rounds(30, (round) => 500 + (round % 4) * 200)).verdict).toBe('constant');
  });

  it('is constant when a cache has filled, or the system warms up in the first rounds', () => {
    expect(judged(rounds(30, (round) => Math.min(100 + 20 * round, 300))).verdict).toBe('constant');
    expect(judged([0, 90, ...rounds(12, () => 100)]).verdict).toBe('constant');
  });

  it('may rise by the larger tolerance', () => {
    expect(judged(rounds(20, (round) => 10 + round * 0.5)).verdict).toBe('constant');
    expect(judged(rounds(20, (round) => 10_000 + round * 20)).verdict).toBe('constant');
    expect(judged(rounds(20, (round) => 10_000 + round * 60)).verdict).toBe('GROWS');
  });
});

describe('a process that was started again', () => {
  const halves = [...rounds(10, () => 'first'), ...rounds(10, () => 'second')];

  it('is judged in each of its lives', () => {
    expect(
      judged(
        rounds(20, (round) => 100 + 5 * (round % 10)),
        halves,
      ),
    ).toMatchObject({
      rounds: 10,
      verdict: 'GROWS',
    });
  });

  it('does not grow when the next one is larger from the beginning', () => {
    expect(
      judged(
        rounds(20, (round) => (round < 10 ? 100 : 200)),
        halves,
      ).verdict,
    ).toBe('constant');
  });

  it('grows when only one of them does', () => {
    const values = rounds(20, (round) => (round < 10 ? 100 : 50 + 5 * round));
    expect(judged(values, halves)).toMatchObject({ begin: 112.5, end: 142.5, verdict: 'GROWS' });
  });

  it('is not judged when its lives are too short', () => {
    const lives = rounds(20, (round) => `life ${round >> 2}`);
    expect(
      judged(
        rounds(20, (round) => 100 * round),
        lives,
      ),
    ).toMatchObject({
      begin: 0,
      end: 1900,
      verdict: 'too short',
    });
  });
});
