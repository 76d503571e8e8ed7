import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { pause } from '@workbench-hub/shared/runtime/pause';
import { beforeEach, expect, it } from 'vitest';
import { percentileMs } from '../../core/durations.js';
import type { StatisticsPeriod, StatisticsStep } from '../../core/ports/task-statistics.js';
import type { AttemptStarted, TaskEnded } from '../../core/task-events.js';
import { Statistics } from './statistics.js';

const MINUTE_MS = 60_000;
const START_MS = Date.UTC(2026, 10, 21);

let runtime: ManualRuntime;
/** Minutes as they were added to the store. */
let added: StatisticsPeriod[];
/** Whether the store refuses what is added. */
let isBroken: boolean;
/** Number of times that the store refuses to forget. */
let refusals: number;
/** Steps that the store has forgotten. */
let forgotten: StatisticsStep[];
/** Time that the store takes. */
let takesMs: number;
/** Lengths of the parts that were read. */
let partsMs: number[];
let statistics: Statistics;
beforeEach(() => {
  runtime = manualRuntime(START_MS);
  added = [];
  isBroken = false;
  refusals = 0;
  forgotten = [];
  takesMs = 0;
  partsMs = [];
  const store = {
    add: async (minutes: readonly StatisticsPeriod[]) => {
      const refuses = isBroken;
      if (takesMs > 0) await pause(runtime.timers, takesMs);
      if (refuses) throw new Error('the disk is full');
      added.push(...minutes);
    },
    between: async (_: StatisticsStep, fromMs: number, toMs: number) => {
      partsMs.push(toMs - fromMs);
      return added.filter(({ startMs }) => startMs >= fromMs && startMs < toMs);
    },
    forget: async (step: StatisticsStep) => {
      if (refusals-- > 0) throw new Error('the disk is full');
      forgotten.push(step);
    },
  };
  statistics = new Statistics({ ...runtime, store, log: { error: () => undefined } as unknown as Logger });
});

/** Counts a first attempt of a task that waited for so long. */
function start(waitedMs: number): void {
  const event = { ref: { attempt: 1 }, task: { requestedAtMs: 1000 }, startedAtMs: 1000 + waitedMs };
  statistics.onTask.STARTED?.({ type: 'STARTED', ...event } as AttemptStarted);
}

/** Counts the end of a task that ran for so long. */
function end(status: 'FINISHED' | 'FAILED', ranMs: number): void {
  const event = { task: { startedAtMs: 1000 }, ending: { status }, endedAtMs: 1000 + ranMs };
  statistics.onTask.ENDED?.({ type: 'ENDED', ...event } as TaskEnded);
}

const periods = (stepsPerPeriod: number, minutes: number) =>
  statistics.between({
    step: 'MINUTE',
    stepsPerPeriod,
    fromMs: START_MS,
    toMs: START_MS + minutes * MINUTE_MS,
  });

it('makes percentiles of several minutes from all durations of them', async () => {
  // Of the first minute nine in ten waited for 100 ms, of the second and third all.
  for (const waitedMs of [...Array<number>(9).fill(100), 50_000]) start(waitedMs);
  end('FINISHED', 700);
  await runtime.advance(MINUTE_MS);
  for (let count = 0; count < 15; count++) start(100);
  end('FAILED', 900);
  await runtime.advance(MINUTE_MS);
  for (let count = 0; count < 5; count++) start(100);
  await runtime.advance(MINUTE_MS);
  const p95 = (found: readonly StatisticsPeriod[]) => found.map(({ waits }) => percentileMs(waits, 95));
  expect(p95(await periods(1, 3))).toEqual([50_000, 100, 100]);
  expect(p95(await periods(2, 3))).toEqual([100, 100]);
  const [all, none] = await periods(3, 4);
  expect(all).toMatchObject({ startMs: START_MS, started: 30, finished: 1, failed: 1, ranMs: 1600 });
  expect(percentileMs(all?.runs ?? [], 95)).toBe(900);
  expect(none).toMatchObject({ startMs: START_MS + 3 * MINUTE_MS, started: 0, waits: [], runs: [] });
});

it('keeps durations that could not be saved for the next time', async () => {
  isBroken = true;
  start(100);
  await runtime.advance(5000);
  expect(added).toEqual([]);
  isBroken = false;
  start(100);
  start(30_000);
  await runtime.advance(5000);
  expect(added).toHaveLength(1);
  expect(added[0]).toMatchObject({ started: 3, waitedMs: 30_200 });
  expect(added[0]?.waits.map(({ count, totalMs }) => [count, totalMs])).toEqual([
    [2, 200],
    [1, 30_000],
  ]);
});

it('counts once what is saved while old minutes cannot be forgotten, and forgets them with the next', async () => {
  refusals = 1;
  start(100);
  await runtime.advance(5000);
  expect(forgotten).toEqual([]);
  start(200);
  await runtime.advance(5000);
  expect(added.map(({ started, waitedMs }) => [started, waitedMs])).toEqual([
    [1, 100],
    [1, 200],
  ]);
  expect(forgotten).toEqual(['MINUTE', 'HOUR']);
});

it('keeps what is counted while the store refuses, in the same minute or in a later one', async () => {
  isBroken = true;
  takesMs = MINUTE_MS;
  start(100);
  await runtime.advance(10_000);
  start(200);
  await runtime.advance(MINUTE_MS / 2);
  await runtime.advance(MINUTE_MS / 3);
  start(300);
  isBroken = false;
  takesMs = 0;
  await runtime.advance(MINUTE_MS);
  const [first, second, ...others] = [...added].sort((a, b) => a.startMs - b.startMs);
  expect([first, second]).toMatchObject([
    { startMs: START_MS, started: 2, waitedMs: 300 },
    { startMs: START_MS + MINUTE_MS, started: 1, waitedMs: 300 },
  ]);
  expect(others).toEqual([]);
});

it('reads many periods in parts, between which other work goes on', async () => {
  start(100);
  await runtime.advance(1030 * MINUTE_MS);
  start(200);
  let turns = 0;
  let isRead = false;
  const other = () => {
    if (isRead) return;
    turns++;
    runtime.timers.soon(other);
  };
  runtime.timers.soon(other);
  const found = await periods(20, 1040);
  isRead = true;
  expect(partsMs).toEqual([200, 200, 200, 200, 200, 40].map((minutes) => minutes * MINUTE_MS));
  expect(turns).toBeGreaterThanOrEqual(5);
  expect(found).toHaveLength(52);
  expect(found[0]).toMatchObject({ started: 1, waitedMs: 100 });
  expect(found[51]).toMatchObject({ startMs: START_MS + 1020 * MINUTE_MS, started: 1, waitedMs: 200 });
});
