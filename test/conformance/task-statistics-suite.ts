/** Statistics of tasks, as every store keeps them. */
import type { DurationClass } from '@workbench-hub/hub/core/durations';
import type { StatisticsPeriod } from '@workbench-hub/hub/core/ports/task-statistics';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { OpenStore, StoreUnderTest } from './store-under-test.js';

const HOUR = 3_600_000 * 500_000;
const MINUTE = 60_000;

function counted(startMs: number, rest: Partial<StatisticsPeriod> = {}): StatisticsPeriod {
  const none = {
    created: 0,
    started: 0,
    finished: 0,
    failed: 0,
    canceled: 0,
    lost: 0,
    waitedMs: 0,
    ranMs: 0,
    waits: [],
    runs: [],
  };
  return { startMs, ...none, ...rest };
}

function durations(number: number, count: number, totalMs: number): DurationClass {
  return { class: number, count, totalMs };
}

export function describeTaskStatistics(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());
  const minutes = (fromMs = 0, toMs = Number.MAX_SAFE_INTEGER) =>
    store.statistics.between('MINUTE', fromMs, toMs);
  const hours = () => store.statistics.between('HOUR', 0, Number.MAX_SAFE_INTEGER);

  it('add up by minute and by hour, also after a restart', async () => {
    const rest = { started: 2, finished: 3, failed: 4, canceled: 5, lost: 6, waitedMs: 7, ranMs: 8 };
    await store.statistics.add([
      counted(HOUR, { created: 1, ...rest }),
      counted(HOUR + MINUTE, { created: 2 }),
    ]);
    store = await store.reopen();
    await store.statistics.add([counted(HOUR, { created: 10 }), counted(HOUR + 3_600_000, { created: 4 })]);
    const first = counted(HOUR, { created: 11, ...rest });
    expect(await minutes()).toEqual([
      first,
      counted(HOUR + MINUTE, { created: 2 }),
      counted(HOUR + 3_600_000, { created: 4 }),
    ]);
    expect(await hours()).toEqual([{ ...first, created: 13 }, counted(HOUR + 3_600_000, { created: 4 })]);
    expect(await minutes(HOUR, HOUR + MINUTE)).toEqual([first]);
    expect(await minutes(HOUR + 1, HOUR + MINUTE)).toEqual([]);
  });

  it('are forgotten step by step', async () => {
    await store.statistics.add([counted(HOUR), counted(HOUR + MINUTE)]);
    await store.statistics.forget('MINUTE', HOUR + MINUTE);
    expect(await minutes()).toEqual([counted(HOUR + MINUTE)]);
    expect(await hours()).toEqual([counted(HOUR)]);
  });

  it('add up durations by class, also after a restart', async () => {
    const first = counted(HOUR, {
      started: 3,
      waits: [durations(1, 2, 2), durations(9, 1, 2)],
      runs: [durations(80, 1, 1000)],
    });
    await store.statistics.add([first, counted(HOUR + MINUTE, { waits: [durations(9, 4, 8)] })]);
    store = await store.reopen();
    await store.statistics.add([counted(HOUR, { runs: [durations(81, 1, 1024), durations(80, 2, 2001)] })]);
    const runs = [durations(80, 3, 3001), durations(81, 1, 1024)];
    expect(await minutes()).toEqual([
      { ...first, runs },
      counted(HOUR + MINUTE, { waits: [durations(9, 4, 8)] }),
    ]);
    expect(await hours()).toEqual([{ ...first, waits: [durations(1, 2, 2), durations(9, 5, 10)], runs }]);
  });

  it('forget durations with their periods', async () => {
    const waits = [durations(9, 1, 2)];
    await store.statistics.add([counted(HOUR, { waits }), counted(HOUR + MINUTE, { waits })]);
    await store.statistics.forget('MINUTE', HOUR + MINUTE);
    // If the durations of the first minute were still there, they would count again.
    await store.statistics.add([counted(HOUR)]);
    expect(await minutes()).toEqual([counted(HOUR), counted(HOUR + MINUTE, { waits })]);
    expect(await hours()).toEqual([counted(HOUR, { waits: [durations(9, 2, 4)] })]);
  });
}
