/** An act that outlives the screen that began it, such as handing in large files. */
import { Store } from './store.js';

export interface ActState<S, P> {
  readonly isPending: boolean;
  /** Value of the act that runs or ran last; undefined before the first one. */
  readonly subject: S | undefined;
  readonly progress: P | undefined;
  /** Why the last act failed; null while one runs, and after one that succeeded or was stopped. */
  readonly error: Error | null;
  /** Whether the last act was stopped before its end. */
  readonly isStopped: boolean;
}

/** An act with the signal that stops it, and the function by which it tells how far it is. */
export type Act<T, P> = (signal: AbortSignal, onProgress: (progress: P) => void) => Promise<T>;

/** Acts of a kind, of which one runs at a time. */
export class LastingAct<S, T, P = never> {
  readonly state = new Store<ActState<S, P>>(idle());
  readonly #listeners = new Set<(result: T) => void>();
  #present: AbortController | undefined;

  /** Begins unless one runs. `onDone` is called once it has succeeded, whatever is shown then. */
  begin(subject: S, act: Act<T, P>, onDone: (result: T) => void): void {
    if (this.#present) return;
    const present = new AbortController();
    this.#present = present;
    this.state.set({ ...idle(), isPending: true, subject });
    void this.#run(present, act, onDone);
  }

  /** Calls back with the result of each that succeeds, until the returned function is called. */
  onDone(listener: (result: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Stops the one that runs. */
  stop(): void {
    this.#present?.abort();
  }

  /** Stops the one that runs, and forgets it with its result. */
  forget(): void {
    this.#present?.abort();
    this.#present = undefined;
    this.state.set(idle());
  }

  async #run(present: AbortController, act: Act<T, P>, onDone: (result: T) => void): Promise<void> {
    const { signal } = present;
    const isForgotten = () => this.#present !== present;
    try {
      const result = await act(signal, (progress) => {
        if (!isForgotten()) this.state.set({ ...this.state.get(), progress });
      });
      if (isForgotten()) return;
      for (const listener of this.#listeners) listener(result);
      onDone(result);
      this.#end({ error: null, isStopped: false });
    } catch (error) {
      if (isForgotten()) return;
      const isStopped = signal.aborted;
      this.#end({ error: isStopped ? null : asError(error), isStopped });
    }
  }

  #end(end: Pick<ActState<S, P>, 'error' | 'isStopped'>): void {
    this.#present = undefined;
    this.state.set({ ...this.state.get(), isPending: false, progress: undefined, ...end });
  }
}

function idle(): ActState<never, never> {
  return { isPending: false, subject: undefined, progress: undefined, error: null, isStopped: false };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
