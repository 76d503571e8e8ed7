/** A search in a text that grows: what is added during a search is looked at when that has ended. */
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

  /** Searches now, or once more after the search that runs. Never rejects. */
  async again(): Promise<void> {
    this.#isStale = true;
    if (this.#isBusy) return;
    this.#isBusy = true;
    const { signal } = this.#closing;
    while (this.#isStale && !signal.aborted) {
      this.#isStale = false;
      const hits = await this.#search(signal).catch(() => undefined);
      if (hits !== undefined && !signal.aborted) this.#onHits(hits);
    }
    this.#isBusy = false;
  }

  /** Ends the search that runs, and tells of no more hits. */
  close(): void {
    this.#closing.abort();
  }
}
