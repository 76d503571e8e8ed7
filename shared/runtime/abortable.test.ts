import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { withAnyOf } from './abortable.js';

describe('a step with any of several signals', () => {
  it('is told of the first that is aborted, with its reason', async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    await withAnyOf([first.signal, second.signal], async (any) => {
      expect(any.aborted).toBe(false);
      second.abort('the second');
      expect(any.reason).toBe('the second');
      first.abort('the first');
      expect(any.reason).toBe('the second');
    });
    await withAnyOf([first.signal], async (any) => expect(any.reason).toBe('the first'));
  });

  it('leaves nothing at the signals, also when it fails', async () => {
    const long = new AbortController();
    expect(await withAnyOf([long.signal], async () => getEventListeners(long.signal, 'abort').length)).toBe(
      1,
    );
    await expect(withAnyOf([long.signal], () => Promise.reject(new Error('broken')))).rejects.toThrow(
      'broken',
    );
    expect(getEventListeners(long.signal, 'abort')).toEqual([]);
  });
});
