import type { BlobForm } from '../core/ports/files.js';

/** By which a content in one of its forms is known in memory. */
export function blobKey({ digest, encrypted }: { digest: string; encrypted?: boolean }): string {
  return encrypted ? `${digest}.encrypted` : digest;
}

/** The digest in such a key, which is the whole key of a clear content. */
export function digestOfKey(key: string): string {
  return key.slice(0, 64);
}

/** One step at a time for each content: it is not removed while somebody finds out that it is there, nor found while it is
 *  being removed. */
export class BlobLocks {
  readonly #latest = new Map<string, Promise<void>>();

  locked<T>(content: BlobForm, step: () => Promise<T>): Promise<T> {
    return this.lockedName(blobKey(content), step);
  }

  /** The same for a file whose content is not known. */
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

  /** The same for several contents, of which none is given twice. Only one caller at a time may do this. */
  async allLocked<T>(contents: readonly BlobForm[], step: () => Promise<T>): Promise<T> {
    const all = contents.reduce<() => Promise<T>>(
      (inner, content) => () => this.locked(content, inner),
      step,
    );
    return all();
  }
}
