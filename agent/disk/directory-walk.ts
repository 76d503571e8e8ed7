/** Walk to folders below a directory with a bounded number of open handles, since a tree may be deeper than the limit of open
 *  files. */
import type { Directory } from './directory.js';

/** Maximum number of open handles; the ones nearest to the top are closed first and reopened on the way back. */
const HELD = 32;

export class DirectoryWalk {
  readonly #top: Directory;
  #names: readonly Buffer[] = [];
  /** Open folders by depth; undefined when closed. */
  #held: (Directory | undefined)[] = [];

  constructor(top: Directory) {
    this.#top = top;
  }

  /** Folder at these names below the top; open until the next call. Throws as `openDirectory` does. */
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
