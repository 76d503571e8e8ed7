import { describe, expect, it } from 'vitest';
import { type PendingCompletions, trackCompletions } from './pending-completions.js';

interface Write {
  readonly written: Promise<boolean>;
  sync(): void;
  fail(): void;
}

function write(): Write {
  let sync!: () => void;
  let fail!: () => void;
  const written = new Promise<boolean>((resolve, reject) => {
    sync = () => resolve(true);
    fail = () => reject(new Error('the disk is full'));
  });
  return { written, sync, fail };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Whether somebody who looks at the task now has to wait. */
async function waits(endings: PendingCompletions, id: string): Promise<boolean> {
  let over = false;
  const look = endings.get(id) ?? Promise.resolve();
  look.then(
    () => (over = true),
    () => (over = true),
  );
  await settled();
  return !over;
}

describe('pending completions', () => {
  it('are awaited until the end of the task is synced, and then forgotten', async () => {
    const endings: PendingCompletions = new Map();
    const end = write();
    const noted = trackCompletions(endings, ['a', 'b'], end.written);
    expect(await waits(endings, 'a')).toBe(true);
    expect(await waits(endings, 'c')).toBe(false);
    end.sync();
    expect(await noted).toBe(true);
    await settled();
    expect(endings.size).toBe(0);
  });

  it('of the same task are awaited until both are synced, in either order', async () => {
    const endings: PendingCompletions = new Map();
    const [report, cancel] = [write(), write()];
    const noted = trackCompletions(endings, ['a'], report.written);
    const failed = trackCompletions(endings, ['a'], cancel.written).catch((error: Error) => error.message);
    cancel.fail();
    expect(await failed).toBe('the disk is full');
    expect(await waits(endings, 'a')).toBe(true);
    report.sync();
    expect(await noted).toBe(true);
    await settled();
    expect(endings.size).toBe(0);
  });

  it('are awaited until the later one is synced, even if an earlier one has been', async () => {
    const endings: PendingCompletions = new Map();
    const [report, cancel] = [write(), write()];
    void trackCompletions(endings, ['a'], report.written);
    void trackCompletions(endings, ['a'], cancel.written);
    report.sync();
    await settled();
    expect(await waits(endings, 'a')).toBe(true);
    cancel.sync();
    await settled();
    expect(endings.size).toBe(0);
  });

  it('are forgotten when the end could not be written', async () => {
    const endings: PendingCompletions = new Map();
    const end = write();
    const failed = trackCompletions(endings, ['a'], end.written).catch((error: Error) => error.message);
    end.fail();
    expect(await failed).toBe('the disk is full');
    expect(endings.size).toBe(0);
  });
});
