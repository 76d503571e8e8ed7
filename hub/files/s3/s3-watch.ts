import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { S3Fault } from './s3-fault.js';
import { locationOf, type S3Settings } from './s3-settings.js';

const ASK_EVERY_MS = 15_000;
const ASK_AGAIN_EVERY_MS = 2000;

/** Whether the object store can be used. Requests of the hub show it, and a probe while there are none. */
export class S3Watch {
  readonly #settings: S3Settings;
  readonly #log: Logger;
  readonly #loop: Loop;
  #isUsable = true;
  /** Faults that were logged since the store could be used last, such as one for a missing right. */
  readonly #logged = new Set<string>();
  #probe: (() => Promise<void>) | undefined;

  constructor(settings: S3Settings, timers: Timers, log: Logger) {
    this.#settings = settings;
    this.#log = log;
    this.#loop = new Loop({ timers, pass: () => this.#ask(), isStopped: true });
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Begins to ask; `probe` rejects with {@link S3Fault} when the store cannot be used. */
  start(probe: () => Promise<void>): void {
    this.#probe = probe;
    this.#loop.start(ASK_EVERY_MS);
  }

  close(): void {
    void this.#loop.stop();
  }

  /** Notes the result of a request; null for a success. */
  note(fault: S3Fault | null): void {
    if (fault === null || fault.kind === 'MISSING' || fault.kind === 'UNSUPPORTED' || this.#loop.isStopped)
      return;
    if (fault.kind === 'AWAY') this.#away(fault);
    else this.#tellOnce(fault);
  }

  async #ask(): Promise<number> {
    try {
      await this.#probe?.();
      this.#back();
    } catch (error) {
      if (!(error instanceof S3Fault)) throw error;
      this.#away(error);
    }
    return this.#isUsable ? ASK_EVERY_MS : ASK_AGAIN_EVERY_MS;
  }

  #away(fault: S3Fault): void {
    if (this.#loop.isStopped || !this.#isUsable) return;
    this.#isUsable = false;
    this.#logged.add(fault.message);
    this.#log.error(
      { objectStore: locationOf(this.#settings), why: fault.message, advice: fault.advice },
      'the object store is away: requests that need it are refused until it is back',
    );
    this.#loop.wake(ASK_AGAIN_EVERY_MS);
  }

  #back(): void {
    this.#logged.clear();
    if (this.#isUsable || this.#loop.isStopped) return;
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
