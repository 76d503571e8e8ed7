import { beforeEach, describe, expect, it } from 'vitest';
import { Loop, type LoopOptions, periodicLoop } from './loop.js';
import { type ManualRuntime, manualRuntime } from './manual-runtime.js';

/** A pass that has begun and ends when the test says so. */
interface Pass {
  readonly atMs: number;
  end(nextMs?: number): void;
  fail(error: Error): void;
}

let runtime: ManualRuntime;
let passes: Pass[];

beforeEach(() => {
  runtime = manualRuntime();
  passes = [];
});

function loopOf(failed?: LoopOptions['failed']): Loop {
  const pass = () =>
    new Promise<number | undefined>((resolve, reject) => {
      passes.push({ atMs: runtime.clock.monotonicMs(), end: resolve, fail: reject });
    });
  return new Loop({ timers: runtime.timers, pass, ...(failed && { failed }) });
}

/** Times of the beginnings of the passes so far. */
const times = () => passes.map(({ atMs }) => atMs);
const latest = () => passes.at(-1) as Pass;
const settled = () => runtime.advance(0);

describe('a wake', () => {
  it('begins a pass at once, together with the others of its turn', async () => {
    const loop = loopOf();
    loop.wake();
    loop.wake();
    expect(times()).toEqual([]);
    await Promise.resolve();
    expect(times()).toEqual([0]);
    latest().end();
    await runtime.advance(1000);
    expect(times()).toEqual([0]);
  });

  it('begins one after the events that are ready now', async () => {
    const loop = loopOf();
    loop.wakeSoon();
    loop.wakeSoon();
    await Promise.resolve();
    expect(times()).toEqual([]);
    await settled();
    expect(times()).toEqual([0]);
  });

  it('begins one after its delay, or earlier for another wake', async () => {
    const loop = loopOf();
    loop.wake(500);
    await runtime.advance(450);
    loop.wake(100);
    await runtime.advance(49);
    expect(times()).toEqual([]);
    await runtime.advance(1);
    expect(times()).toEqual([500]);
    latest().end();
    loop.wake(500);
    await settled();
    loop.wake(20);
    loop.wake(30);
    await runtime.advance(20);
    expect(times()).toEqual([500, 520]);
    latest().end();
    await runtime.advance(5000);
    expect(times()).toEqual([500, 520]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('during a pass leads to another, its delay counted from the end', async () => {
    const loop = loopOf();
    loop.wake();
    await settled();
    loop.wake(200);
    loop.wake(100);
    await runtime.advance(1000);
    expect(times()).toEqual([0]);
    latest().end(500);
    await runtime.advance(99);
    expect(times()).toEqual([0]);
    await runtime.advance(1);
    expect(times()).toEqual([0, 1100]);
    loop.wake();
    latest().end();
    await settled();
    expect(times()).toEqual([0, 1100, 1100]);
  });

  it('of a pass for itself leads to another', async () => {
    let passed = 0;
    const loop: Loop = new Loop({
      timers: runtime.timers,
      pass: async () => {
        if (++passed < 3) loop.wake();
      },
    });
    loop.wake();
    await settled();
    expect(passed).toBe(3);
  });
});

describe('the delay that a pass returns', () => {
  it('is that until the next, which a wake shortens', async () => {
    const loop = loopOf();
    loop.start(1000);
    await runtime.advance(1000);
    latest().end(1000);
    await runtime.advance(1000);
    expect(times()).toEqual([1000, 2000]);
    latest().end(1000);
    await runtime.advance(300);
    loop.wake();
    await settled();
    expect(times()).toEqual([1000, 2000, 2300]);
    latest().end(1000);
    await runtime.advance(999);
    expect(times()).toEqual([1000, 2000, 2300]);
  });
});

describe('a failure', () => {
  it('is told, and holds the next pass back whatever wakes', async () => {
    const failures: unknown[] = [];
    const loop = loopOf((error) => {
      failures.push(error);
      return 1000;
    });
    loop.wake();
    await settled();
    loop.wake();
    latest().fail(new Error('away'));
    await settled();
    expect(failures).toEqual([new Error('away')]);
    loop.wake();
    await runtime.advance(999);
    expect(times()).toEqual([0]);
    await runtime.advance(1);
    expect(times()).toEqual([0, 1000]);
    latest().end();
    loop.wake();
    await settled();
    expect(times()).toEqual([0, 1000, 1000]);
  });

  it('without anybody to tell rejects the stop', async () => {
    const loop = loopOf();
    loop.wake();
    await settled();
    const stopped = loop.stop();
    latest().fail(new Error('a defect'));
    await expect(stopped).rejects.toThrow('a defect');
  });
});

describe('who waits for a pass', () => {
  it('waits for one that begins afterwards', async () => {
    const loop = loopOf();
    const ended: string[] = [];
    void loop.passed().then(() => ended.push('first'));
    await settled();
    void loop.passed().then(() => ended.push('second'));
    expect(times()).toEqual([0]);
    latest().end();
    await settled();
    expect(ended).toEqual(['first']);
    expect(times()).toEqual([0, 0]);
    latest().end();
    await settled();
    expect(ended).toEqual(['first', 'second']);
  });

  it('learns of its failure, and others of later passes do not', async () => {
    const loop = loopOf();
    const first = expect(loop.passed()).rejects.toThrow('away');
    await settled();
    const second = loop.passed();
    latest().fail(new Error('away'));
    await first;
    await settled();
    latest().end();
    await second;
  });

  it('learns of a stop', async () => {
    const loop = loopOf();
    loop.wake();
    await settled();
    const waiting = expect(loop.passed()).rejects.toThrow('the loop was stopped');
    const stopped = loop.stop();
    latest().end();
    await stopped;
    await waiting;
    await expect(loop.passed()).rejects.toThrow('the loop was stopped');
  });
});

describe('a stop', () => {
  it('waits for the pass in progress, and begins no other', async () => {
    const loop = loopOf();
    loop.wake();
    await settled();
    loop.wake();
    let isStopped = false;
    const stopped = loop.stop().then(() => {
      isStopped = true;
    });
    await runtime.advance(100);
    expect([isStopped, loop.isStopped, loop.isPassing]).toEqual([false, true, true]);
    latest().end(10);
    await stopped;
    loop.wake();
    loop.wakeSoon();
    loop.wake(5);
    await runtime.advance(100);
    expect(times()).toEqual([0]);
    expect(loop.isPassing).toBe(false);
  });

  it('ends a pass that was to begin in this turn, soon or later', async () => {
    for (const wake of [
      (loop: Loop) => loop.wake(),
      (loop: Loop) => loop.wakeSoon(),
      (loop: Loop) => loop.start(5),
    ]) {
      const loop = loopOf();
      wake(loop);
      await loop.stop();
      await runtime.advance(100);
    }
    expect(times()).toEqual([]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('can be followed by a start, also during the last pass', async () => {
    const loop = loopOf();
    loop.wake();
    await settled();
    const stopped = loop.stop();
    loop.start(10);
    latest().end();
    await stopped;
    await runtime.advance(10);
    expect(times()).toEqual([0, 10]);
  });

  it('ends the delay after a failure', async () => {
    const loop = loopOf(() => 1000);
    loop.wake();
    await settled();
    latest().fail(new Error('away'));
    await settled();
    await loop.stop();
    expect(runtime.pendingTimers).toBe(0);
    loop.start(10);
    await runtime.advance(10);
    expect(times()).toEqual([0, 10]);
  });
});

describe('a loop that is stopped', () => {
  it('has the pass of a wake when it starts', async () => {
    const loop = new Loop({
      timers: runtime.timers,
      pass: async () => void passes.push({ atMs: runtime.clock.monotonicMs() } as Pass),
      isStopped: true,
    });
    loop.wake(50);
    loop.wake(20);
    await runtime.advance(100);
    expect(times()).toEqual([]);
    loop.start(200);
    await runtime.advance(1000);
    expect(times()).toEqual([120]);
    await loop.stop();
    loop.start(200);
    await runtime.advance(1000);
    expect(times()).toEqual([120, 1300]);
  });
});

describe('a periodic loop', () => {
  it('goes on after failures, which it tells', async () => {
    const failures: unknown[] = [];
    let count = 0;
    const loop = periodicLoop(100, {
      timers: runtime.timers,
      pass: async () => {
        passes.push({ atMs: runtime.clock.monotonicMs() } as Pass);
        if (++count === 2) throw new Error('away');
      },
      failed: (error) => failures.push(error),
    });
    loop.start(30);
    await runtime.advance(300);
    expect(times()).toEqual([30, 130, 230]);
    expect(failures).toEqual([new Error('away')]);
    await loop.stop();
    await runtime.advance(300);
    expect(times()).toEqual([30, 130, 230]);
  });
});

describe('a finish', () => {
  it('has one last pass after the one in progress', async () => {
    const loop = loopOf();
    loop.wake();
    await settled();
    const finished = Promise.all([loop.passed(), loop.finish()]);
    await settled();
    expect(times()).toEqual([0]);
    latest().end();
    await settled();
    expect(times()).toEqual([0, 0]);
    latest().end(10);
    await finished;
    await runtime.advance(100);
    expect(times()).toEqual([0, 0]);
  });

  it('does not wait for the delay after a failure, and tells of another', async () => {
    const failures: unknown[] = [];
    const loop = loopOf((error) => failures.push(error));
    loop.wake();
    await settled();
    latest().fail(new Error('first'));
    await settled();
    const finished = loop.finish();
    await settled();
    latest().fail(new Error('second'));
    await finished;
    expect(failures).toEqual([new Error('first'), new Error('second')]);
    expect(runtime.pendingTimers).toBe(0);
  });
});
