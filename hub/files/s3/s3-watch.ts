import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import { S3Fault } from './s3-fault.js';
import { locationOf, type S3Settings } from './s3-settings.js';

const ASK_EVERY_MS = 15_000;
const ASK_AGAIN_EVERY_MS = 2000;

/** Whether the object store can be used. Requests of the hub show it, and a probe while there are none. */
export class S3Watch {
  readonly #settings: S3Settings;
  readonly #timers: Timers;
  readonly #log: Logger;
  #isUsable = true;
  /** Faults that were logged since the store could be used last, such as one for a missing right. */
  readonly #logged = new Set<string>();
  #timer: Timer | undefined;
  #probe: (() => Promise<void>) | undefined;
  #isAsking = false;
  #isClosed = false;

  constructor(settings: S3Settings, timers: Timers, log: Logger) {
    this.#settings = settings;
    this.#timers = timers;
    this.#log = log;
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Begins to ask; `probe` rejects with {@link S3Fault} when the store cannot be used. */
  start(probe: () => Promise<void>): void {
    this.#probe = probe;
    this.#askLater();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** Notes the result of a request; null for a success. */
  note(fault: S3Fault | null): void {
    if (fault === null || fault.kind === 'MISSING' || fault.kind === 'UNSUPPORTED' || this.#isClosed) return;
    if (fault.kind === 'AWAY') this.#away(fault);
    else this.#tellOnce(fault);
  }

  #askLater(): void {
    this.#timer?.cancel();
    if (this.#isClosed || this.#isAsking) return;
    const delayMs = this.#isUsable ? ASK_EVERY_MS : ASK_AGAIN_EVERY_MS;
    this.#timer = this.#timers.after(delayMs, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    try {
      await this.#probe?.();
      this.#back();
    } catch (error) {
      if (!(error instanceof S3Fault)) throw error;
      this.#away(error);
    } finally {
      this.#isAsking = false;
      this.#askLater();
    }
  }

  #away(fault: S3Fault): void {
    if (this.#isClosed || !this.#isUsable) return;
    this.#isUsable = false;
    this.#logged.add(fault.message);
    this.#log.error(
      { objectStore: locationOf(this.#settings), why: fault.message, advice: fault.advice },
      'the object store is away: requests that need it are refused until it is back',
    );
    this.#askLater(); // sooner from now on
  }

  #back(): void {
    this.#logged.clear();
    if (this.#isUsable || this.#isClosed) return;
    this.#isUsable = true;
    this.#log.info({ objectStore: locationOf(this.#settings) }, 'the object store responds again');
  }

  #tellOnce(fault: S3Fault): void {
    if (this.#logged.has(fault.message)) return;
    this.#logged.add(fault.message);
    this.#log.error(
      { objectStore: locationOf(this.#settings), why: fault.message, advice: fault.advice },
      'the object store has refused a request',
    );
  }
}
