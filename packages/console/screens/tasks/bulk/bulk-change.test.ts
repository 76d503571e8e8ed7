import { expect, it, vi } from 'vitest';

vi.mock('../../../data/hub.js', () => ({ hub: {} }));
const { changeAll } = await import('./bulk-change.js');

const REQUEST = { kind: 'delete', filter: {}, force: false } as const;

function hubWith(...parts: readonly { changed: number; more: boolean }[]) {
  const left = [...parts];
  const calls: boolean[] = [];
  const send = async (_: unknown, dryRun: boolean) => {
    calls.push(dryRun);
    const part = left.shift();
    if (part === undefined) throw new Error('asked too often');
    return { ...part, dryRun, matched: part.changed, tasks: [] };
  };
  return { send, calls };
}

it('repeats the change while there may be more, and tells how far it is', async () => {
  const { send, calls } = hubWith({ changed: 10_000, more: true }, { changed: 7, more: false });
  const told: number[] = [];
  expect(await changeAll(REQUEST, (changed) => told.push(changed), send)).toBe(10_007);
  expect(told).toEqual([10_000, 10_007]);
  expect(calls).toEqual([false, false]);
});

it('ends when nothing changes any more', async () => {
  const { send } = hubWith({ changed: 0, more: true });
  expect(await changeAll(REQUEST, () => undefined, send)).toBe(0);
});
