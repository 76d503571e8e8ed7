import { beforeEach, describe, expect, it } from 'vitest';
import { backOff } from './back-off.js';
import { manualRuntime } from './manual-runtime.js';
import { pause } from './pause.js';
import { composeServices, type Service, serviceOf } from './service.js';
import { systemRuntime } from './system-runtime.js';

describe('back-off', () => {
  it('doubles up to the longest pause, with a random part of up to a half, and starts over', () => {
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
  it('takes a delay beyond what one timer of Node holds for what it says', async () => {
    let fired = false;
    const timer = systemRuntime.timers.after(2 ** 31 + 1000, () => (fired = true));
    await new Promise<void>((resolve) => systemRuntime.timers.after(20, resolve));
    timer.cancel();
    expect(fired).toBe(false);
  });

  it('makes identifiers in the order of their creation', () => {
    const ids = Array.from({ length: 1000 }, () => systemRuntime.newId());
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(1000);
  });
});

describe('a service', () => {
  const opened: string[] = [];
  const service = () =>
    serviceOf('service', async (onStop) => {
      opened.push('opened');
      await new Promise((resolve) => setImmediate(resolve));
      onStop(() => opened.push('released'));
      if (opened.includes('fail')) throw new Error('cannot open');
    });
  beforeEach(() => void opened.splice(0));

  it('starts and stops once, however often it is told to', async () => {
    const it = service();
    await Promise.all([it.start(), it.start()]);
    await it.start();
    await Promise.all([it.stop(), it.stop()]);
    await it.stop();
    expect(opened).toEqual(['opened', 'released']);
  });

  it('can be stopped before its start, and started again', async () => {
    const it = service();
    await it.stop();
    await it.start();
    const [stopped, started] = [it.stop(), it.start()];
    await Promise.all([stopped, started]);
    expect(opened).toEqual(['opened', 'released', 'opened']);
    await it.stop();
    expect(opened).toEqual(['opened', 'released', 'opened', 'released']);
  });

  it('waits at its stop for a start that is under way', async () => {
    const it = service();
    const starting = it.start();
    await it.stop();
    expect(opened).toEqual(['opened', 'released']);
    await starting;
  });

  it('releases what a failed start took, and can be started again', async () => {
    const it = service();
    opened.push('fail');
    await expect(it.start()).rejects.toThrow('cannot open');
    expect(opened).toEqual(['fail', 'opened', 'released']);
    opened.splice(0);
    await it.start();
    await it.stop();
    expect(opened).toEqual(['opened', 'released']);
  });
});

describe('composed services', () => {
  const service = (name: string, events: string[], broken = ''): Service => ({
    name,
    start: () => {
      events.push(`start ${name}`);
      return broken === 'start' ? Promise.reject(new Error(`${name} cannot start`)) : Promise.resolve();
    },
    stop: () => {
      events.push(`stop ${name}`);
      return broken === 'stop' ? Promise.reject(new Error(`${name} cannot stop`)) : Promise.resolve();
    },
  });

  it('start in order and stop in reverse', async () => {
    const events: string[] = [];
    const all = composeServices('all', [service('a', events), service('b', events)]);
    await all.start();
    await all.stop();
    expect(events).toEqual(['start a', 'start b', 'stop b', 'stop a']);
  });

  it('stop what was started when one cannot', async () => {
    const events: string[] = [];
    const parts = [service('a', events), service('b', events, 'start'), service('c', events)];
    await expect(composeServices('all', parts).start()).rejects.toThrow('b cannot start');
    expect(events).toEqual(['start a', 'start b', 'stop a']);
  });

  it('stop all, though one cannot, and say so', async () => {
    const events: string[] = [];
    const all = composeServices('all', [service('a', events), service('b', events, 'stop')]);
    await all.start();
    await expect(all.stop()).rejects.toThrow('b cannot stop');
    expect(events).toEqual(['start a', 'start b', 'stop b', 'stop a']);
  });
});
