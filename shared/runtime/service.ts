/** Part of a program that starts and stops. Both methods may be called repeatedly, and in any order. */
export interface Service {
  readonly name: string;
  /** Resolves when it works; rejects when it cannot, having released what it took. */
  start(): Promise<void>;
  /** Resolves when it has stopped and released everything; waits for a start that is under way. */
  stop(): Promise<void>;
}

/** Registers a release for the stop; releases run in reverse order. */
export type OnStop = (release: () => unknown) => void;

/** A service from one function that acquires what it needs, and registers a release for each. */
export function serviceOf(name: string, open: (onStop: OnStop) => Promise<void>): Service {
  const releases: (() => unknown)[] = [];
  let starting: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;

  const releaseAll = async (): Promise<void> => {
    const failures: unknown[] = [];
    for (const release of releases.splice(0).reverse()) {
      try {
        await release();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
  };
  const begin = async (stopped: Promise<void> | undefined): Promise<void> => {
    await stopped?.catch(() => undefined);
    try {
      await open((release) => releases.push(release));
    } catch (error) {
      // The reason of the failed start says more than a failed release.
      await releaseAll().catch(() => undefined);
      throw error;
    }
  };
  const end = async (started: Promise<void> | undefined): Promise<void> => {
    await started?.catch(() => undefined);
    await releaseAll();
  };

  return {
    name,
    start() {
      if (starting !== undefined) return starting;
      const begun = begin(stopping);
      starting = begun;
      begun.catch(() => {
        if (starting === begun) starting = undefined;
      });
      return begun;
    },
    stop() {
      if (starting === undefined && stopping !== undefined) return stopping;
      stopping = end(starting);
      starting = undefined;
      return stopping;
    },
  };
}

/** One service of several: started in order, stopped in reverse; a failed start stops those already started. */
export function composeServices(name: string, parts: readonly Service[]): Service {
  return serviceOf(name, async (onStop) => {
    for (const part of parts) {
      await part.start();
      onStop(() => part.stop());
    }
  });
}
