import { expect, it } from 'vitest';
import { SharedDownloads } from './shared-downloads.js';

class UsedUp extends Error {}

interface Begun {
  readonly signal: AbortSignal;
  readonly resolve: (value: string) => void;
  readonly reject: (error: Error) => void;
}

/** Downloads that end as the test says. */
function downloads() {
  const begun: Begun[] = [];
  const shared = new SharedDownloads<string>((error) => error instanceof UsedUp);
  const download = (signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => {
      begun.push({ signal, resolve, reject });
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  const share = (key: string, signal = new AbortController().signal) => shared.share(key, download, signal);
  return { begun, share };
}

it('downloads once what two need at a time, and again what is needed later', async () => {
  const { begun, share } = downloads();
  const [one, other, apart] = [share('a'), share('a'), share('b')];
  expect(begun).toHaveLength(2);
  begun[0]?.resolve('content');
  begun[1]?.resolve('of b');
  expect(await Promise.all([one, other, apart])).toEqual(['content', 'content', 'of b']);
  const later = share('a');
  begun[2]?.resolve('new');
  expect(await later).toBe('new');
});

it('goes on while one still needs it, and is aborted when none does', async () => {
  const { begun, share } = downloads();
  const [first, second] = [new AbortController(), new AbortController()];
  const ends = Promise.allSettled([share('a', first.signal), share('a', second.signal)]);
  first.abort(new Error('the first is canceled'));
  await Promise.resolve();
  expect(begun[0]?.signal.aborted).toBe(false);
  second.abort(new Error('the second is canceled'));
  const reasons = (await ends).map((end) => (end.status === 'rejected' ? (end.reason as Error).message : ''));
  expect(reasons).toEqual(['the first is canceled', 'the second is canceled']);
  expect(begun[0]?.signal.reason).toEqual(new Error('no job needs it any more'));
  const next = share('a');
  expect(begun).toHaveLength(2);
  begun[1]?.resolve('content');
  expect(await next).toBe('content');
});

it('gives all tries to one who has joined a download that had begun before', async () => {
  const { begun, share } = downloads();
  const one = share('a');
  const other = share('a');
  begun[0]?.reject(new UsedUp('no more tries'));
  await expect(one).rejects.toThrow('no more tries');
  await expect.poll(() => begun.length).toBe(2);
  begun[1]?.resolve('content');
  expect(await other).toBe('content');
});

it('fails for all with a fault that another try would meet again', async () => {
  const { begun, share } = downloads();
  const ends = Promise.allSettled([share('a'), share('a')]);
  begun[0]?.reject(new Error('there is no such file'));
  expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(begun).toHaveLength(1);
});
