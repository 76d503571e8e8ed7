import type { BlobForm } from '../core/ports/blobs.js';

/** Key of a blob in one of its forms. */
export function blobKey({ digest, encrypted }: { digest: string; encrypted?: boolean }): string {
  return encrypted ? `${digest}.encrypted` : digest;
}

/** The digest in a key; a plain blob's key is its digest. */
export function digestOfKey(key: string): string {
  return key.slice(0, 64);
}

/** Mutual exclusion for each blob: it is not removed while it is found, nor found while it is removed. */
export class BlobLocks {
  readonly #latest = new Map<string, Promise<void>>();

  locked<T>(blob: BlobForm, step: () => Promise<T>): Promise<T> {
    return this.lockedName(blobKey(blob), step);
  }

  /** Lock for a file whose digest is not known. */
  async lockedName<T>(key: string, step: () => Promise<T>): Promise<T> {
    const before = this.#latest.get(key);
    let release = (): void => undefined;
    const mine = new Promise<void>((resolve) => {
      release = resolve;
    });
    const latest = before === undefined ? mine : before.then(() => mine);
    this.#latest.set(key, latest);
    await before;
    try {
      return await step();
    } finally {
      release();
      if (this.#latest.get(key) === latest) this.#latest.delete(key);
    }
  }

  /** Locks several distinct blobs, one after the other in the same order for all callers, so that none waits for another that waits
   *  for it. */
  async allLocked<T>(blobs: readonly BlobForm[], step: () => Promise<T>): Promise<T> {
    const keys = blobs.map(blobKey).sort();
    const all = keys.reduce<() => Promise<T>>((inner, key) => () => this.lockedName(key, inner), step);
    return all();
  }
}
