/** Statistics of tasks, as every store keeps them. */
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
  };
  return { startMs, ...none, ...rest };
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
}
