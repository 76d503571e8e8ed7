/** Longest rest between two searches. */
const LONGEST_REST_MS = 10_000;

/** A search in a text that grows: what is added during a search is looked at when that has ended, after a rest as long as it took. */
export class RepeatedSearch {
  readonly #search: (signal: AbortSignal) => Promise<readonly number[]>;
  readonly #onHits: (hits: readonly number[]) => void;
  readonly #closing = new AbortController();
  #isBusy = false;
  #isStale = false;

  /** `onHits` is called with what each search has found. */
  constructor(
    search: (signal: AbortSignal) => Promise<readonly number[]>,
    onHits: (hits: readonly number[]) => void,
  ) {
    this.#search = search;
    this.#onHits = onHits;
  }

  /** Searches now, or once more after the search that runs and its rest. Never rejects. */
  async again(): Promise<void> {
    this.#isStale = true;
    if (this.#isBusy) return;
    this.#isBusy = true;
    const { signal } = this.#closing;
    while (this.#isStale && !signal.aborted) {
      this.#isStale = false;
      const beganMs = performance.now();
      const hits = await this.#search(signal).catch(() => undefined);
      if (hits !== undefined && !signal.aborted) this.#onHits(hits);
      const tookMs = performance.now() - beganMs;
      await new Promise((resolve) => setTimeout(resolve, Math.min(tookMs, LONGEST_REST_MS)));
    }
    this.#isBusy = false;
  }

  /** Ends the search that runs, and tells of no more hits. */
  close(): void {
    this.#closing.abort();
  }
}
