/** Blobs that must not be removed at the moment, referenced or not. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { BlobForm, Hold } from '../core/ports/blobs.js';
import { blobKey, digestOfKey } from './blob-locks.js';

/** Time between finding a blob and opening it. */
const BRIEF_MS = 5000;

export class Holds {
  readonly #clock: Clock;
  readonly #onAbandoned: (blobs: readonly BlobForm[]) => void;
  readonly #counts = new Map<string, number>();
  /** End in monotonic time; in this order. */
  readonly #brief = new Map<string, number>();

  constructor(clock: Clock, onAbandoned: (blobs: readonly BlobForm[]) => void) {
    this.#clock = clock;
    this.#onAbandoned = onAbandoned;
  }

  begin(): Hold {
    const held = new Map<string, BlobForm>();
    const end = (): readonly BlobForm[] => {
      const blobs = [...held.values()];
      for (const key of held.keys()) this.#uncount(key);
      held.clear();
      return blobs;
    };
    return {
      add: ({ digest, encrypted = false }) => {
        const key = blobKey({ digest, encrypted });
        if (held.has(key)) return;
        held.set(key, { digest, encrypted });
        this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
      },
      release: () => void end(),
      abandon: () => {
        const blobs = end();
        if (blobs.length > 0) this.#onAbandoned(blobs);
      },
    };
  }

  /** Holds a blob for some seconds. */
  briefly(blob: BlobForm): void {
    this.#endBrief();
    const key = blobKey(blob);
    this.#brief.delete(key);
    this.#brief.set(key, this.#clock.monotonicMs() + BRIEF_MS);
  }

  has(blob: BlobForm): boolean {
    this.#endBrief();
    const key = blobKey(blob);
    return this.#counts.has(key) || this.#brief.has(key);
  }

  /** Digests of held encrypted blobs. */
  encrypted(): string[] {
    return [...this.#counts.keys(), ...this.#brief.keys()]
      .filter((key) => key !== digestOfKey(key) && this.has({ digest: digestOfKey(key), encrypted: true }))
      .map(digestOfKey);
  }

  /** Forgets the brief holds that are over: the first ones. */
  #endBrief(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, untilMs] of this.#brief) {
      if (untilMs > nowMs) break;
      this.#brief.delete(key);
    }
  }

  #uncount(key: string): void {
    const count = (this.#counts.get(key) ?? 0) - 1;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
  }
}
