import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { describe, expect, it } from 'vitest';
import type { LoginRecords } from '../../core/ports/login-records.js';
import { LoginThrottle } from './login-throttle.js';
import { ownLoginRecords } from './own-login-records.js';

const MINUTE_MS = 60_000;

function throttled() {
  const { clock, advance } = manualRuntime();
  const records: LoginRecords = ownLoginRecords(clock);
  const throttle = new LoginThrottle(records);
  const begin = async (times: number, key: string) => {
    for (let at = 0; at < times; at++) await throttle.begin(key);
  };
  return { advance, records, throttle, begin };
}

describe('the login throttle', () => {
  it('returns when the next attempt may begin', async () => {
    const { throttle, advance } = throttled();
    for (let at = 0; at < 10; at++) {
      await throttle.begin('anna');
      await advance(10_000);
    }
    await expect(throttle.begin('anna')).rejects.toThrow(/try again in 200 s$/);
    await advance(200_000);
    await throttle.begin('anna');
    await expect(throttle.begin('anna')).rejects.toThrow(/try again in 10 s$/);
  });

  it('tells whole seconds after which the attempt is not refused again', async () => {
    const { throttle, advance, begin } = throttled();
    await begin(10, 'anna');
    await expect(throttle.begin('anna')).rejects.toThrow(/try again in 300 s$/);
    await advance(99_999);
    await expect(throttle.begin('anna')).rejects.toThrow(/try again in 201 s$/);
    await advance(1);
    await expect(throttle.begin('anna')).rejects.toThrow(/try again in 200 s$/);
  });

  it('delays the tenth of several simultaneous attempts', async () => {
    const { throttle, records, begin } = throttled();
    await begin(10, 'anna');
    await expect(throttle.refuse('anna')).rejects.toThrow();
    await records.succeeded('anna', '192.0.2.1', ['anna']);
    await throttle.refuse('anna');
  });

  it('keeps a name that is tried again, and forgets others', async () => {
    const { throttle, begin } = throttled();
    for (const username of ['first', 'second']) await begin(9, username);
    await throttle.begin('first');
    for (let at = 0; at < 19_999; at++) await throttle.begin(`name ${at}`);
    // The one forgotten is `second`, which was tried longest ago, though `first` was the first to be tried.
    await expect(throttle.refuse('first')).rejects.toThrow();
    await throttle.begin('second');
    await throttle.refuse('second');
  });

  it('forgets the name that was tried longest ago when there are very many', async () => {
    const { throttle, begin, advance } = throttled();
    for (const username of ['first', 'second']) await begin(10, username);
    await advance(MINUTE_MS);
    for (let at = 0; at < 19_999; at++) await throttle.begin(`name ${at}`);
    await throttle.refuse('first');
    await expect(throttle.refuse('second')).rejects.toThrow();
  });
});
