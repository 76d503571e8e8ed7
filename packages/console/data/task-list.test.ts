import type { Hub, TaskFilter, TaskItem } from '@workbench-hub/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LiveEvents, TaskEvent } from './live-events.js';
import { TaskList } from './task-list.js';

const task = (number: number) =>
  ({
    id: `t${number}`,
    status: 'FINISHED',
    attempt: 1,
    requestedAt: new Date(number * 1000).toISOString(),
    endedAt: new Date(number * 1000).toISOString(),
  }) as TaskItem;

/** Number of tasks of the hub; the newest has this number. */
let count: number;
let list: TaskList;
let close: () => void;
let reset: () => void;
/** End of the wait of each request; none waits by default. */
let answer: Promise<void>;
/** Beginning of the time of the filter, when it is asked for; undefined for none. */
let from: string | undefined;

const hub = {
  window: async ({ from }: TaskFilter, { limit, after }: { limit: number; after?: string }) => {
    await answer;
    const first = after === undefined ? count : Number(after);
    const earliest = from === undefined ? 1 : Date.parse(from) / 1000;
    const matching = Math.max(0, first - earliest + 1);
    const numbers = Array.from({ length: Math.min(limit, matching) }, (_, at) => first - at);
    const next = matching > limit ? { next: String(first - limit) } : {};
    return { tasks: numbers.map(task), total: count, counts: {}, cursor: `h.${count}`, ...next };
  },
} as unknown as Hub;
/** Changes that this tab has received. */
let events: TaskEvent[];
let listener: (events: readonly TaskEvent[]) => void;
const live = {
  onEvents: (added: typeof listener) => {
    listener = added;
    return () => undefined;
  },
  onReset: (listener: () => void) => {
    reset = listener;
    return () => undefined;
  },
  get received() {
    return events.length;
  },
  // Cursors of changes are not those of responses.
  after: (_: string, askedAt: number) => events.slice(askedAt),
} as unknown as LiveEvents;

beforeEach(async () => {
  vi.useFakeTimers();
  count = 50_000;
  answer = Promise.resolve();
  from = undefined;
  events = [];
  list = new TaskList(hub, live, () => (from === undefined ? {} : { from }));
  close = list.open();
  await vi.advanceTimersByTimeAsync(0);
});
afterEach(() => {
  close();
  vi.useRealTimers();
});

async function grow(by: number) {
  count += by;
  reset();
  await vi.advanceTimersByTimeAsync(1000);
}

/** Lets requests wait until the returned function is called. */
function hold(): () => void {
  let release = () => {};
  answer = new Promise((resolve) => {
    release = resolve;
  });
  return release;
}

const shown = () => list.state.get();

it('keeps a bounded number of rows while tasks come in and only the newest are looked at', async () => {
  for (let round = 0; round < 30; round++) await grow(100);
  expect(shown().rows[0]?.id).toBe('t53000');
  expect(shown().rows.length).toBeLessThanOrEqual(1200);
  expect(shown().hasMore).toBe(true);
  await list.loadMore();
  const numbers = shown().rows.map(({ id }) => Number(id.slice(1)));
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, at) => 53_000 - at));
});

it('keeps the rows to which it was scrolled, up to as many as can be shown', async () => {
  while (shown().rows.length < 19_900) await list.loadMore();
  list.lastShown = 19_800;
  await grow(150);
  expect(shown().rows).toHaveLength(20_000);
  expect(shown()).toMatchObject({ hasMore: false, isFull: true });
  await list.loadMore();
  expect(shown().rows).toHaveLength(20_000);
  list.lastShown = 20;
  await grow(1);
  expect(shown().rows).toHaveLength(200);
  expect(shown()).toMatchObject({ hasMore: true, isFull: false });
});

describe('a change that comes while older rows are on their way', () => {
  const tell = (number: number, change: Partial<TaskItem>) => {
    const event: TaskEvent = { type: 'task', cursor: 'h.t9_1', task: { ...task(number), ...change } };
    events.push(event);
    listener([event]);
  };
  const rowOf = (number: number) => shown().rows.find(({ id }) => id === `t${number}`);

  it('is shown in them', async () => {
    const release = hold();
    void list.loadMore();
    tell(49_700, { note: 'changed' });
    release();
    await vi.advanceTimersByTimeAsync(0);
    expect(rowOf(49_700)?.note).toBe('changed');
  });

  it('is not shown when it is older than they are', async () => {
    const release = hold();
    void list.loadMore();
    tell(49_700, { status: 'RUNNING', endedAt: undefined as never });
    tell(49_701, { attempt: 0, note: 'before' });
    release();
    await vi.advanceTimersByTimeAsync(0);
    expect(rowOf(49_700)?.status).toBe('FINISHED');
    expect(rowOf(49_701)?.note).toBeUndefined();
  });
});

describe('a filter that moves with the clock', () => {
  const numbers = () => shown().rows.map(({ id }) => Number(id.slice(1)));
  const oldest = () => numbers().at(-1);
  const since = (number: number) => {
    from = task(number).requestedAt;
  };

  it('drops rows that it has left, though nothing has changed', async () => {
    since(49_500);
    await grow(0);
    while (shown().hasMore) await list.loadMore();
    expect(oldest()).toBe(49_500);
    since(49_700);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(oldest()).toBe(49_700);
    expect(numbers()).toHaveLength(301);
    expect(list.filter).toEqual({ from });
  });

  it('is asked for again when the list is opened again', async () => {
    since(49_990);
    await grow(0);
    close();
    since(49_995);
    close = list.open();
    await vi.advanceTimersByTimeAsync(0);
    expect(oldest()).toBe(49_995);
  });
});

describe('older rows that are asked for while a request is on its way', () => {
  it('are loaded after it, also when it brings nothing new', async () => {
    const release = hold();
    await grow(0);
    void list.loadMore();
    release();
    await vi.advanceTimersByTimeAsync(0);
    expect(shown().rows).toHaveLength(400);
    await grow(0);
    expect(shown().rows).toHaveLength(400);
  });

  it('are loaded when the hub can be reached again', async () => {
    answer = Promise.reject(new Error('away'));
    await list.loadMore();
    expect(shown().rows).toHaveLength(200);
    answer = Promise.resolve();
    await vi.advanceTimersByTimeAsync(1000);
    expect(shown().rows).toHaveLength(400);
  });

  it('do not hide a change that comes meanwhile', async () => {
    await vi.advanceTimersByTimeAsync(1000);
    const release = hold();
    void list.loadMore();
    await grow(1);
    release();
    await vi.advanceTimersByTimeAsync(1000);
    expect(shown().rows[0]?.id).toBe('t50001');
    expect(shown().total).toBe(50_001);
  });
});
