/**
 * The current directory of the process, which all its threads share: relative paths of `node:fs` begin there. Jobs that use
 * it take turns.
 */
export class WorkingDirectory {
  readonly #home = process.cwd();
  #last: Promise<unknown> = Promise.resolve();

  /** Runs a job in a directory, when those before it have ended. Rejects at once if it is aborted before that. */
  async within<T>(directory: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    const before = this.#last;
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#last = before.then(() => ended);
    try {
      await settledOrAborted(before, signal);
      process.chdir(directory);
      try {
        return await run();
      } finally {
        process.chdir(this.#home);
      }
    } finally {
      end();
    }
  }
}

function settledOrAborted(turn: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = () => reject(new Error('canceled before its turn'));
    if (signal.aborted) aborted();
    signal.addEventListener('abort', aborted, { once: true });
    void turn.then(() => {
      signal.removeEventListener('abort', aborted);
      resolve();
    });
  });
}
