import { describe, expect, it } from 'vitest';
import { backOff } from './back-off.js';
import { manualRuntime } from './manual-runtime.js';
import { pause } from './pause.js';
import { systemRuntime } from './system-runtime.js';

describe('backoff', () => {
  it('doubles up to the longest delay, with a random part of up to a half, and restarts', () => {
    const shortest = backOff(250, 1500, () => 0);
    expect([1, 2, 3, 4, 5].map(() => shortest.nextMs())).toEqual([125, 250, 500, 750, 750]);
    const longest = backOff(250, 1500, () => 1);
    expect([1, 2, 3, 4, 5].map(() => longest.nextMs())).toEqual([250, 500, 1000, 1500, 1500]);
    longest.reset();
    expect(longest.nextMs()).toBe(250);
  });
});

describe('pause', () => {
  it('ends after its time, not before', async () => {
    const runtime = manualRuntime();
    let over = false;
    void pause(runtime.timers, 1000).then(() => (over = true));
    await runtime.advance(999);
    expect(over).toBe(false);
    await runtime.advance(1);
    expect(over).toBe(true);
  });

  it('rejects with the reason of an abort, and leaves no timer', async () => {
    const runtime = manualRuntime();
    const abort = new AbortController();
    const paused = pause(runtime.timers, 1000, abort.signal);
    abort.abort(new Error('enough'));
    await expect(paused).rejects.toThrow('enough');
    await expect(pause(runtime.timers, 1000, abort.signal)).rejects.toThrow('enough');
    expect(runtime.pendingTimers).toBe(0);
  });
});

describe('system runtime', () => {
  it('supports delays beyond the maximum of a Node timer', async () => {
    let fired = false;
    const timer = systemRuntime.timers.after(2 ** 31 + 1000, () => (fired = true));
    await new Promise<void>((resolve) => systemRuntime.timers.after(20, resolve));
    timer.cancel();
    expect(fired).toBe(false);
  });

  it('creates ascending identifiers', () => {
    const ids = Array.from({ length: 1000 }, () => systemRuntime.newId());
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(1000);
  });
});
