/** Working directory of a bundle: all its points work in it, one after the other, and each finds it as it was staged. */
import fs from 'node:fs';
import path from 'node:path';
import {
  MAX_BUNDLED_OUTPUT_BYTES,
  type PointOutput,
  pointOutput,
} from '@workbench-hub/shared/instance-protocol/point-results';

export class PointFolder {
  readonly #folder: string;
  /** Staged files by path, with what changes when somebody writes to them. */
  readonly #staged: ReadonlyMap<string, string>;

  constructor(folder: string) {
    this.#folder = folder;
    this.#staged = new Map([...entriesOf(folder)].map(({ name, stats }) => [name, stateOf(stats)]));
  }

  /** Takes the files that a point has left. Undefined when it must run in a directory of its own: it has changed a staged file, made
   *  something other than a file, or left too much. */
  takeOutputs(): readonly PointOutput[] | undefined {
    const left = [...entriesOf(this.#folder)];
    const made = left.filter(({ name }) => !this.#staged.has(name));
    const kept = left.filter(({ name, stats }) => this.#staged.get(name) === stateOf(stats));
    if (kept.length < this.#staged.size || made.some(({ stats }) => !stats.isFile())) return undefined;
    const sizeBytes = made.reduce((sum, { stats }) => sum + stats.size, 0);
    if (sizeBytes > MAX_BUNDLED_OUTPUT_BYTES) return undefined;
    return made.map(({ name }) => {
      const file = path.join(this.#folder, name);
      const content = fs.readFileSync(file);
      fs.unlinkSync(file);
      return pointOutput(name, content);
    });
  }
}

interface Entry {
  /** Relative path, with `/`. */
  readonly name: string;
  readonly stats: fs.Stats;
}

function* entriesOf(folder: string, prefix = ''): Generator<Entry> {
  for (const name of fs.readdirSync(path.join(folder, prefix)).sort()) {
    const entry = { name: `${prefix}${name}`, stats: fs.lstatSync(path.join(folder, prefix, name)) };
    yield entry;
    if (entry.stats.isDirectory()) yield* entriesOf(folder, `${entry.name}/`);
  }
}

/** Text that differs after a write, a rename, and a change of mode. Folders change with their files, which are entries themselves. */
function stateOf(stats: fs.Stats): string {
  const { ino, mode, size, mtimeMs, ctimeMs } = stats;
  return stats.isDirectory() ? 'folder' : [ino, mode, size, mtimeMs, ctimeMs].join('/');
}
