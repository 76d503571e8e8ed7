import type { Hub, HubEvent, TaskItem } from '@workbench-hub/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LiveEvents, type TaskEvent } from './live-events.js';

const task = (number: number): HubEvent => ({
  type: 'task',
  cursor: `h.${number}`,
  task: { id: `t${number}` } as TaskItem,
});
const cursors = (events: readonly TaskEvent[] | undefined) => events?.map(({ cursor }) => cursor);

/** A hub whose stream the test feeds. */
class FakeHub {
  /** Cursors at which streams were asked for. */
  readonly asked: (string | undefined)[] = [];
  readonly #queue: (HubEvent | Error)[] = [];
  #wake: () => void = () => undefined;

  async *events({ since }: { since?: string }): AsyncGenerator<HubEvent, never> {
    this.asked.push(since);
    for (;;) {
      const next = this.#queue.shift();
      if (next instanceof Error) throw next;
      if (next) yield next;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  tells(...events: (HubEvent | Error)[]): void {
    this.#queue.push(...events);
    this.#wake();
  }
}

let hub: FakeHub;
let live: LiveEvents;
let seen: string[];

function liveEventsOf(source: FakeHub): LiveEvents {
  return new LiveEvents(source as unknown as Hub);
}

beforeEach(() => {
  vi.stubGlobal('navigator', {});
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  hub = new FakeHub();
  live = liveEventsOf(hub);
  seen = [];
  live.onEvents((events) => void seen.push(...events.map(({ cursor }) => cursor)));
  live.onReset(() => void seen.push('reset'));
  live.start();
});
afterEach(() => {
  live.close();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe('the stream of a tab', () => {
  it('tells of changes, and knows those after the cursor of a list', async () => {
    hub.tells({ type: 'hello', cursor: 'h.10' }, task(11), task(12));
    await expect.poll(() => seen).toEqual(['reset', 'h.11', 'h.12']);
    const { received } = live;
    expect(cursors(live.after('h.11', received))).toEqual(['h.12']);
    expect(cursors(live.after('h.10', received))).toEqual(['h.11', 'h.12']);
    expect(cursors(live.after('h.12', received))).toEqual([]);
  });

  it('knows what has come since a list was asked for, whose cursor is that of no change', async () => {
    hub.tells({ type: 'hello', cursor: 'h.t120_1' }, task(11));
    await expect.poll(() => seen).toContain('h.11');
    const { received } = live;
    hub.tells(task(12), task(13));
    await expect.poll(() => seen).toContain('h.13');
    expect(cursors(live.after('h.t123_4-1', received))).toEqual(['h.12', 'h.13']);
    expect(cursors(live.after('h.t123_4-1', live.received))).toEqual([]);
  });

  it('does not claim to know what was before it', async () => {
    const before = live.received;
    expect(live.after('h.10', before)).toBeUndefined();
    hub.tells({ type: 'hello', cursor: 'h.10' }, task(11));
    await expect.poll(() => seen).toContain('h.11');
    expect(live.after('h.9', before)).toBeUndefined();
  });

  it('tells of changes though timers do not run, as in a hidden tab', async () => {
    const passed = vi.spyOn(performance, 'now');
    const timeout = setTimeout;
    const turn = () => new Promise((resolve) => timeout(resolve));
    vi.stubGlobal('setTimeout', () => 0);
    vi.stubGlobal('setInterval', () => 0);
    for (const [nowMs, number] of [
      [1000, 11],
      [1150, 12],
    ] as const) {
      passed.mockReturnValue(nowMs);
      hub.tells(task(number));
      await turn();
      expect(seen.at(-1)).toBe(`h.${number}`);
    }
  });

  it('begins anew after a reset', async () => {
    hub.tells({ type: 'hello', cursor: 'h.10' }, task(11));
    await expect.poll(() => seen).toContain('h.11');
    const before = live.received;
    hub.tells({ type: 'reset', cursor: 'k.3' });
    await expect.poll(() => seen.filter((each) => each === 'reset')).toHaveLength(2);
    expect(live.after('h.11', before)).toBeUndefined();
    expect(cursors(live.after('k.3', live.received))).toEqual([]);
  });

  it('continues at the last cursor after a refusal, without a reset', async () => {
    hub.tells({ type: 'hello', cursor: 'h.10' }, task(11));
    hub.tells(new Error('the hub refused the stream'));
    await expect.poll(() => hub.asked).toEqual([undefined, 'h.11']);
    hub.tells({ type: 'hello', cursor: 'h.11' }, task(12));
    await expect.poll(() => seen).toEqual(['reset', 'h.11', 'h.12']);
  });

  it('forgets the oldest changes, and says so', async () => {
    const many = Array.from({ length: 5100 }, (_, number) => task(number + 1));
    hub.tells({ type: 'hello', cursor: 'h.0' }, task(0));
    await expect.poll(() => seen).toContain('h.0');
    const { received } = live;
    hub.tells(...many);
    await expect.poll(() => seen.at(-1)).toBe('h.5100');
    expect(live.after('h.50', received)).toBeUndefined();
    expect(live.after('h.5000', received)).toHaveLength(100);
    expect(live.after('h.100', received)).toHaveLength(5000);
  });
});

it('reaches a tab that only listens', async () => {
  vi.stubGlobal('navigator', { locks: { request: () => new Promise(() => undefined) } });
  hub.tells({ type: 'hello', cursor: 'h.10' }, task(11));
  await expect.poll(() => seen).toContain('h.11');
  const follower = liveEventsOf(new FakeHub());
  const heard: string[] = [];
  follower.onEvents((events) => void heard.push(...events.map(({ cursor }) => cursor)));
  follower.start();
  await expect.poll(() => follower.isLive.get()).toBe(true);
  expect(follower.after('h.10', -1)).toBeUndefined();
  hub.tells(task(12));
  await expect.poll(() => heard.at(-1)).toBe('h.12');
  expect(cursors(follower.after('h.11', follower.received))).toEqual(['h.12']);
  follower.close();
});
