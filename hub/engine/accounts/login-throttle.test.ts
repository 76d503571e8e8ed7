import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { describe, expect, it } from 'vitest';
import { LoginThrottle } from './login-throttle.js';

const MINUTE_MS = 60_000;

describe('the login throttle', () => {
  it('returns when the next attempt may begin', async () => {
    const { clock, advance } = manualRuntime();
    const throttle = new LoginThrottle(clock);
    for (let at = 0; at < 10; at++) {
      throttle.begin('anna');
      await advance(10_000);
    }
    expect(() => throttle.begin('anna')).toThrow(/try again in 200 s$/);
    await advance(200_000);
    throttle.begin('anna');
    expect(() => throttle.begin('anna')).toThrow(/try again in 10 s$/);
  });

  it('delays the tenth of several simultaneous attempts', () => {
    const throttle = new LoginThrottle(manualRuntime().clock);
    for (let at = 0; at < 10; at++) throttle.begin('anna');
    expect(() => throttle.refuse('anna')).toThrow();
    throttle.succeeded('anna');
    throttle.refuse('anna');
  });

  it('keeps a name that is tried again, and forgets others', () => {
    const throttle = new LoginThrottle(manualRuntime().clock);
    for (const username of ['first', 'second']) for (let at = 0; at < 9; at++) throttle.begin(username);
    throttle.begin('first');
    for (let at = 0; at < 19_999; at++) throttle.begin(`name ${at}`);
    // The one forgotten is `second`, which was tried longest ago, though `first` was the first to be tried.
    expect(() => throttle.refuse('first')).toThrow();
    throttle.begin('second');
    throttle.refuse('second');
  });

  it('forgets the name that was tried longest ago when there are very many', async () => {
    const { clock, advance } = manualRuntime();
    const throttle = new LoginThrottle(clock);
    for (const username of ['first', 'second']) for (let at = 0; at < 10; at++) throttle.begin(username);
    await advance(MINUTE_MS);
    for (let at = 0; at < 19_999; at++) throttle.begin(`name ${at}`);
    throttle.refuse('first');
    expect(() => throttle.refuse('second')).toThrow();
  });
});
