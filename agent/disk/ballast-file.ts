/** Disk space held as a file: released on a full disk for writes that must succeed, and taken again when there is room. */
import { randomBytes } from 'node:crypto';
import { rm, stat, statfs, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

const SIZE_BYTES = 1024 * 1024;
/** Free space from which the file is created. */
const TAKEN_FROM_BYTES = 4 * SIZE_BYTES;

export class BallastFile {
  readonly #path: string;
  #isHeld = false;
  #taking: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Creates the file unless it exists, or too little is free. Never rejects. */
  take(): Promise<void> {
    if (this.#isHeld) return Promise.resolve();
    this.#taking ??= this.#take()
      .catch(() => rm(this.#path, { force: true }))
      .catch(() => undefined)
      .finally(() => {
        this.#taking = undefined;
      });
    return this.#taking;
  }

  /** Resolves when no operation is pending. */
  async idle(): Promise<void> {
    await this.#taking;
  }

  /** Releases the space; false when there is none. */
  async release(): Promise<boolean> {
    await this.#taking;
    if (!this.#isHeld) return false;
    this.#isHeld = false;
    await rm(this.#path, { force: true });
    return true;
  }

  async #take(): Promise<void> {
    const held = await stat(this.#path).catch(() => undefined);
    if (held?.size !== SIZE_BYTES) {
      const { bsize, bavail } = await statfs(dirname(this.#path));
      if (bsize * bavail < TAKEN_FROM_BYTES) return;
      // A file system may compress uniform content.
      await writeFile(this.#path, randomBytes(SIZE_BYTES), { mode: 0o600 });
    }
    this.#isHeld = true;
  }
}
