/** The command of a run that takes minutes. */
import { constants } from 'node:os';

const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

/** Runs `main`. A signal aborts what it is given, and so does the end of the process that started it with a channel (`runLongProgram`); once it has
 *  cleaned up, the process ends. A second signal ends it at once. A run that waits for something that cannot happen any more says so. */
export function runLong(main: (stopped: AbortSignal) => Promise<void>): void {
  const stop = new AbortController();
  let hasEnded = false;
  let endedBy: (typeof SIGNALS)[number] | undefined;
  process.once('beforeExit', () => {
    if (hasEnded) return;
    console.error('no summary: the run waits for something that cannot happen any more');
    process.exitCode = 1;
  });
  const stopBy = (signal: (typeof SIGNALS)[number], what: string = signal) => {
    if (endedBy !== undefined) return;
    endedBy = signal;
    console.error(`no summary: the run was ended from outside, by ${what}; it stops its processes`);
    stop.abort();
  };
  for (const signal of SIGNALS) process.once(signal, () => stopBy(signal));
  process.once('disconnect', () => stopBy('SIGTERM', 'the end of the process that started it'));
  // The channel alone does not keep the process running.
  process.channel?.unref();
  main(stop.signal)
    .catch((error: unknown) => {
      if (endedBy === undefined) console.error(error);
      process.exitCode = 1;
    })
    .finally(() => {
      hasEnded = true;
      // What the run was doing may still wait for processes that have ended.
      if (endedBy !== undefined) process.exit(128 + constants.signals[endedBy]);
    });
}

/** The outcome of `run`; rejects when `stopped` is aborted. */
export function unlessStopped<T>(run: Promise<T>, stopped: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => reject(new Error('the run was ended from outside'));
    if (stopped.aborted) return end();
    stopped.addEventListener('abort', end, { once: true });
    run.then(resolve, reject).finally(() => stopped.removeEventListener('abort', end));
  });
}
