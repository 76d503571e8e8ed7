/**
 * The current directory of the process, which all its threads share: relative paths of `node:fs` begin there. Jobs that use
 * it take turns.
 */
export class WorkingDirectory {
  readonly #home = process.cwd();
  #last: Promise<unknown> = Promise.resolve();

  /** Runs a job in a directory, when those before it have ended. */
  within<T>(directory: string, run: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => {
      process.chdir(directory);
      try {
        return await run();
      } finally {
        process.chdir(this.#home);
      }
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
