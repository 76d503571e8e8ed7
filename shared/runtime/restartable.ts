/** Services made of a start function that registers what a stop has to release. */
import type { Service } from './service.js';

/** Releases to be made at the end, the latest first. */
export class Releases {
  readonly #releases: (() => unknown)[] = [];

  add(release: () => unknown): void {
    this.#releases.push(release);
  }

  /** Makes all releases, whether or not some fail. Rejects with the failure, or an AggregateError of several. */
  async releaseAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let release = this.#releases.pop(); release; release = this.#releases.pop()) {
      try {
        await release();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
  }
}

/** Service whose calls may come at any time and repeatedly: a repeated start or stop joins the first; a stop waits for a start
 *  under way, does nothing without one, and may be followed by another start. A failed start releases what it registered. */
export function restartable(name: string, startParts: (releases: Releases) => Promise<void>): Service {
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  let releases = new Releases();

  const start = async (previousStop: Promise<void> | undefined): Promise<void> => {
    await previousStop?.catch(() => undefined);
    releases = new Releases();
    try {
      await startParts(releases);
    } catch (error) {
      started = undefined;
      // The reason of the failed start matters more than a failure to clean up.
      await releases.releaseAll().catch(() => undefined);
      throw error;
    }
  };

  const stop = async (running: Promise<void>): Promise<void> => {
    const isStarted = await running.then(
      () => true,
      () => false,
    );
    if (isStarted) await releases.releaseAll();
  };

  return {
    name,
    start: () => {
      if (started === undefined) {
        started = start(stopped);
        stopped = undefined;
      }
      return started;
    },
    stop: async () => {
      if (started !== undefined) {
        stopped = stop(started);
        started = undefined;
      }
      await stopped;
    },
  };
}
