/** Time limit of each point of a bundle. */
import type { ExecuteBatchJobResult } from '@workbench-hub/shared/instance-protocol/messages';
import type { JobEnd } from './job.js';
import type { SimulatorThread } from './simulator-thread.js';

/** Longest time of a timer, 24 days: a point of a bundle is then left to the time limit of the task. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export class PointLimit {
  readonly #limitMs: number | undefined;
  #isExceeded = false;

  /** Without a number there is no limit. */
  constructor(limitMs: number | undefined) {
    this.#limitMs = limitMs;
  }

  /** End of the point that has exceeded the limit last, in the latest call of {@link watch}; undefined for none. */
  get fault(): JobEnd | undefined {
    if (!this.#isExceeded) return undefined;
    return { kind: 'failed', message: `time limit of ${(this.#limitMs ?? 0) / 1000} s exceeded` };
  }

  /** Runs points in a thread, which is ended when one of them exceeds the limit; `onEnd` begins the next one. */
  async watch(
    thread: Pick<SimulatorThread, 'end' | 'ready'>,
    run: (onEnd: () => void) => Promise<ExecuteBatchJobResult>,
  ): Promise<ExecuteBatchJobResult> {
    this.#isExceeded = false;
    const limitMs = this.#limitMs;
    if (limitMs === undefined || limitMs > MAX_TIMER_MS) return run(() => undefined);
    // Its start is none of a point's time; a thread that cannot be started says so when it runs.
    await thread.ready.catch(() => undefined);
    const exceed = () => {
      this.#isExceeded = true;
      void thread.end();
    };
    let timer = setTimeout(exceed, limitMs);
    const restart = () => {
      clearTimeout(timer);
      // A point that has ended just in time leaves open which one has not.
      if (this.#isExceeded) {
        this.#isExceeded = false;
        return;
      }
      timer = setTimeout(exceed, limitMs);
    };
    try {
      return await run(restart);
    } finally {
      clearTimeout(timer);
    }
  }
}
