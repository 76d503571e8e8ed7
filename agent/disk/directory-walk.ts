/** Goes to folders beneath a directory, of which it holds a few open: a tree may be deeper than a process may open files. */
import type { Directory } from './directory.js';

/** Beyond them, those nearest to the top are closed, and opened again on the way back. */
const HELD = 32;

export class DirectoryWalk {
  readonly #top: Directory;
  #names: readonly Buffer[] = [];
  /** By depth: the folder that the first names lead to; undefined when it is not held. */
  #held: (Directory | undefined)[] = [];

  constructor(top: Directory) {
    this.#top = top;
  }

  /** The folder that these names lead to from the top; open until the next call. Throws as `openDirectory` does. */
  to(names: readonly Buffer[]): Directory {
    let common = 0;
    while (common < names.length && this.#names[common]?.equals(names[common] as Buffer)) common++;
    for (const directory of this.#held.splice(common)) directory?.close();
    this.#names = names.slice(0, common);

    let depth = common;
    while (depth > 0 && !this.#held[depth - 1]) depth--;
    let directory = this.#held[depth - 1] ?? this.#top;
    for (; depth < names.length; depth++) {
      directory = directory.openDirectory(names[depth] as Buffer);
      this.#held[depth] = directory;
      this.#names = names.slice(0, Math.max(common, depth + 1));
      this.#held[depth - HELD]?.close();
      if (depth >= HELD) this.#held[depth - HELD] = undefined;
    }
    return directory;
  }

  close(): void {
    for (const directory of this.#held.splice(0)) directory?.close();
    this.#names = [];
  }
}
