/** Progress lines of a long command: not at once, and not too often. */
import { sizeInWords } from '@workbench-hub/shared/domain/size-in-words';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';

const FIRST_AFTER_MS = 2000;
const EVERY_MS = 5000;

export class Progress {
  readonly #clock: Clock;
  readonly #tell: (line: string) => void;
  readonly #totalBytes: number;
  #doneBytes = 0;
  #nextMs: number;

  constructor(totalBytes: number, clock: Clock, tell: (line: string) => void) {
    this.#totalBytes = totalBytes;
    this.#clock = clock;
    this.#tell = tell;
    this.#nextMs = clock.monotonicMs() + FIRST_AFTER_MS;
  }

  add(bytes: number): void {
    this.reached(this.#doneBytes + bytes);
  }

  /** Total so far. */
  reached(doneBytes: number): void {
    this.#doneBytes = doneBytes;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + EVERY_MS;
    const percent = this.#totalBytes === 0 ? 100 : Math.floor((100 * doneBytes) / this.#totalBytes);
    this.#tell(`${sizeInWords(doneBytes)} of ${sizeInWords(this.#totalBytes)} (${Math.min(percent, 100)} %)`);
  }
}
