/** Leftovers of an earlier run. One that cannot be removed does not prevent the start: it is logged with the remedy, not used,
 *  and removed later. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';

/** Removes the leftover at a path by `remove`. */
export type RemoveLeftover = (path: string, remove: () => Promise<void>) => Promise<void>;

/** Removal that rejects on failure. */
export const REMOVE_OR_REJECT: RemoveLeftover = async (_, remove) => remove();

const RETRY_MS = 10 * 60_000;

export class Leftovers {
  readonly #runtime: Runtime;
  readonly #log: Logger;
  /** Leftovers that could not be removed, by path. */
  readonly #remaining = new Map<string, () => Promise<void>>();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(runtime: Runtime, log: Logger) {
    this.#runtime = runtime;
    this.#log = log;
  }

  /** Removes a leftover now, or later when that fails. Never rejects. */
  readonly remove: RemoveLeftover = async (path, remove) => {
    try {
      await remove();
    } catch (error) {
      this.#remaining.set(path, remove);
      this.#log.warn(
        { err: error, path },
        `${path} of an earlier run could not be removed and is not used: remove it as its owner or as root ` +
          `(rm -rf, after "chattr -R -i" or umount where that applies); next try in ${RETRY_MS / 60_000} minutes`,
      );
      this.#schedule();
    }
  };

  /** Ends the retries. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer ??= this.#runtime.timers.after(RETRY_MS, () => void this.#retry());
  }

  async #retry(): Promise<void> {
    for (const [path, remove] of this.#remaining) {
      try {
        await remove();
        this.#remaining.delete(path);
        this.#log.info({ path }, 'removed a leftover of an earlier run');
      } catch (error) {
        this.#log.debug({ err: error, path }, 'a leftover of an earlier run still cannot be removed');
      }
    }
    this.#timer = undefined;
    if (this.#remaining.size > 0) this.#schedule();
  }
}
