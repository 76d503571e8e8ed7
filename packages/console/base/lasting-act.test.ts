import { beforeEach, expect, it } from 'vitest';
import { LastingAct } from './lasting-act.js';

let act: LastingAct<string, number, string>;
let done: number[];
/** Ends of the acts that were begun. */
let ends: { resolve: (result: number) => void; reject: (error: unknown) => void }[];

function begin(subject: string): void {
  act.begin(
    subject,
    (signal, onProgress) =>
      new Promise((resolve, reject) => {
        ends.push({ resolve, reject });
        signal.addEventListener('abort', () => reject(signal.reason));
        onProgress('half');
      }),
    (result) => void done.push(result),
  );
}

beforeEach(() => {
  act = new LastingAct();
  done = [];
  ends = [];
});

it('runs one at a time, and shows it to whoever comes later', async () => {
  begin('first');
  begin('second');
  expect(ends).toHaveLength(1);
  expect(act.state.get()).toMatchObject({ isPending: true, subject: 'first', progress: 'half' });
  ends[0]?.resolve(1);
  await expect.poll(() => act.state.get().isPending).toBe(false);
  begin('second');
  expect(ends).toHaveLength(2);
});

it('tells of its success those who still listen', async () => {
  const heard: string[] = [];
  const leave = act.onDone((result) => void heard.push(`left ${result}`));
  act.onDone((result) => void heard.push(`stays ${result}`));
  begin('first');
  leave();
  ends[0]?.resolve(1);
  await expect.poll(() => done).toEqual([1]);
  expect(heard).toEqual(['stays 1']);
});

it('keeps why it failed until the next one, but for one that was stopped', async () => {
  begin('first');
  ends[0]?.reject(new Error('refused'));
  await expect.poll(() => act.state.get().error?.message).toBe('refused');
  begin('second');
  expect(act.state.get().error).toBeNull();
  act.stop();
  await expect.poll(() => act.state.get()).toMatchObject({ isPending: false, error: null, isStopped: true });
  begin('third');
  expect(act.state.get().isStopped).toBe(false);
});

it('tells nobody of one that is forgotten', async () => {
  begin('first');
  act.forget();
  expect(act.state.get()).toMatchObject({ isPending: false, subject: undefined });
  begin('second');
  ends[0]?.resolve(1);
  ends[1]?.resolve(2);
  await expect.poll(() => done).toEqual([2]);
});
