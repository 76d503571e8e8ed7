/** Everything that runs starts and stops the same way. */
export interface Service {
  readonly name: string;
  /** Resolves when it works; rejects when it cannot, having released what it took. */
  start(): Promise<void>;
  /** Resolves when it has stopped and released everything. Called at most once, only after a start. */
  stop(): Promise<void>;
}

/** One service of several: started in order, stopped in reverse; a failed start stops those already started. */
export function composeServices(name: string, parts: readonly Service[]): Service {
  let started: Service[] = [];
  const stopStarted = async () => {
    const failures: unknown[] = [];
    for (const part of started.reverse()) {
      await part.stop().catch((error: unknown) => failures.push(error));
    }
    started = [];
    if (failures.length > 0) throw failures.length === 1 ? failures[0] : new AggregateError(failures);
  };
  return {
    name,
    async start() {
      try {
        for (const part of parts) {
          await part.start();
          started.push(part);
        }
      } catch (error) {
        await stopStarted();
        throw error;
      }
    },
    stop: stopStarted,
  };
}
