/** Downloads that several jobs may wait for: what they need is downloaded once. */
import { abortable } from '../runtime/abortable.js';

interface Download<Result> {
  readonly done: Promise<Result>;
  readonly abort: AbortController;
  users: number;
}

export class SharedDownloads<Result> {
  readonly #open = new Map<string, Download<Result>>();
  readonly #areTriesUsedUp: (error: unknown) => boolean;

  /** `areTriesUsedUp` tells whether a download has failed only since its tries, which began with its first user, are used up. */
  constructor(areTriesUsedUp: (error: unknown) => boolean) {
    this.#areTriesUsedUp = areTriesUsedUp;
  }

  /** Joins the download of this key, or begins one. A download that nobody waits for any more is aborted. Rejects as the download does, and with
   *  the reason of the signal. A user who has joined a download whose tries are used up has all tries of a new one. */
  async share(
    key: string,
    download: (signal: AbortSignal) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> {
    const former = this.#open.get(key);
    if (former) {
      try {
        return await this.#use(former, key, signal);
      } catch (error) {
        if (!this.#areTriesUsedUp(error)) throw error;
      }
    }
    return this.#use(this.#open.get(key) ?? this.#begin(key, download), key, signal);
  }

  #begin(key: string, download: (signal: AbortSignal) => Promise<Result>): Download<Result> {
    const abort = new AbortController();
    const done = download(abort.signal).finally(() => this.#forget(key, abort));
    const begun = { done, abort, users: 0 };
    this.#open.set(key, begun);
    return begun;
  }

  async #use(download: Download<Result>, key: string, signal: AbortSignal): Promise<Result> {
    download.users++;
    try {
      return await abortable(download.done, signal);
    } finally {
      download.users--;
      if (download.users === 0) {
        download.abort.abort(new Error('no job needs it any more'));
        // A new user begins another download instead of joining the aborted one.
        this.#forget(key, download.abort);
        await download.done.catch(() => undefined);
      }
    }
  }

  /** Forgets this download only: another one of the same key may have begun since. */
  #forget(key: string, abort: AbortController): void {
    if (this.#open.get(key)?.abort === abort) this.#open.delete(key);
  }
}
