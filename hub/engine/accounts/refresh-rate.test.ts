import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { describe, expect, it } from 'vitest';
import { RefreshRate } from './refresh-rate.js';

describe('the rate of refreshes', () => {
  it('is limited to a burst of one hundred, then to one a second, for each session', async () => {
    const { clock, advance } = manualRuntime();
    const rate = new RefreshRate(clock);
    for (let at = 0; at < 100; at++) rate.count('busy', 'CURRENT');
    expect(() => rate.count('busy', 'CURRENT')).toThrow(/try again in 1 s$/);
    rate.count('other', 'CURRENT');
    await advance(2000);
    for (let at = 0; at < 2; at++) rate.count('busy', 'CURRENT');
    expect(() => rate.count('busy', 'CURRENT')).toThrow(expect.objectContaining({ retryAfterS: 1 }));
    await advance(3_600_000);
    for (let at = 0; at < 100; at++) rate.count('busy', 'CURRENT');
    expect(() => rate.count('busy', 'CURRENT')).toThrow();
  });

  it('counts repetitions of the same refresh, with less weight', () => {
    const rate = new RefreshRate(manualRuntime().clock);
    for (let reload = 0; reload < 50; reload++) {
      rate.count('s', 'CURRENT');
      for (let tab = 1; tab < 20; tab++) rate.count('s', 'JUST_SPENT');
    }
    expect(() => {
      for (let at = 0; at < 2000; at++) rate.count('s', 'JUST_SPENT');
    }).toThrow(/refreshed too often/);
  });

  it('forgets the session that was refreshed longest ago when there are very many', () => {
    const rate = new RefreshRate(manualRuntime().clock);
    for (const id of ['first', 'second']) for (let at = 0; at < 99; at++) rate.count(id, 'CURRENT');
    rate.count('first', 'CURRENT');
    for (let at = 0; at < 19_999; at++) rate.count(`session ${at}`, 'CURRENT');
    expect(() => rate.count('first', 'CURRENT')).toThrow();
    for (let at = 0; at < 2; at++) rate.count('second', 'CURRENT');
  });

  it('remembers a session only while its refreshes count', async () => {
    const { clock, advance } = manualRuntime();
    const rate = new RefreshRate(clock);
    for (const id of ['first', 'second', 'third']) rate.count(id, 'CURRENT');
    expect(rate.sessions).toBe(3);
    await advance(1000);
    rate.count('fourth', 'CURRENT');
    expect(rate.sessions).toBe(1);
    for (let at = 0; at < 10; at++) rate.count('busy', 'CURRENT');
    await advance(5000);
    rate.count('fifth', 'CURRENT');
    expect(rate.sessions).toBe(2);
  });
});
