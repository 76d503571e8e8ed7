import type { Signal, Signals } from '@workbench-hub/hub/core/ports/signals';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

export interface SignalsUnderTest {
  readonly signals: Signals;
  close(): Promise<void>;
}

/** Signals between parts of one hub. */
export function describeSignals(open: () => Promise<SignalsUnderTest>): void {
  let opened: SignalsUnderTest;
  let heard: Signal[];
  beforeEach(async () => {
    opened = await open();
    heard = [];
  });
  afterEach(() => opened.close());

  const ended = (taskId: string) => ({ kind: 'ENDED', taskId }) as const;

  describe('a signal', () => {
    it('reaches those that handle its kind, whole, in the order of telling', async () => {
      const { signals } = opened;
      const others: Signal[] = [];
      signals.hear({ ENDED: (signal) => heard.push(signal) });
      signals.hear({ RETURNED: (signal) => others.push(signal), ENDED: (signal) => heard.push(signal) });
      signals.tell(ended('a'));
      signals.tell({ kind: 'RETURNED', taskId: 'b' });
      signals.tell(ended('c'));
      await expect.poll(() => heard).toEqual([ended('a'), ended('a'), ended('c'), ended('c')]);
      await expect.poll(() => others).toEqual([{ kind: 'RETURNED', taskId: 'b' }]);
    });

    it('that tells of waiting tasks names all of them, with their places', async () => {
      const { signals } = opened;
      const waiting = { taskId: 't', groupId: 3, requirementKey: '{}', priorityRank: 1, sequence: 9 };
      const tasks = [waiting, { ...waiting, taskId: 'u', sequence: 10 }];
      signals.hear({ WAITS: (signal) => heard.push(signal) });
      signals.tell({ kind: 'WAITS', tasks });
      await expect.poll(() => heard).toEqual([{ kind: 'WAITS', tasks }]);
    });

    it('reaches the other listeners when one fails', async () => {
      const { signals } = opened;
      signals.hear({
        ENDED: () => {
          throw new Error('a defect');
        },
      });
      signals.hear({ ENDED: (signal) => heard.push(signal) });
      signals.tell(ended('a'));
      await expect.poll(() => heard).toEqual([ended('a')]);
    });

    it('reaches nobody who no longer listens', async () => {
      const { signals } = opened;
      const left: Signal[] = [];
      const stop = signals.hear({ ENDED: (signal) => left.push(signal) });
      signals.hear({ ENDED: (signal) => heard.push(signal) });
      stop();
      signals.tell(ended('a'));
      await expect.poll(() => heard).toEqual([ended('a')]);
      expect(left).toEqual([]);
    });
  });
}
