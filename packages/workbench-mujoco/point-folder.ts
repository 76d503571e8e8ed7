/** Working directory of a bundle: all its points work in it, one after the other, and each finds it as it was staged. */
import fs from 'node:fs';
import path from 'node:path';
import {
  mayBeBundled,
  POINTS_FILE,
  type PointOutput,
  pointOutput,
} from '@workbench-hub/shared/instance-protocol/point-results';

/** Staged files of a bundle by their path, each with a text that differs once somebody has written to it. */
export type StagedFiles = ReadonlyMap<string, string>;

/** The files that are in a folder now. */
export function stagedFiles(folder: string): StagedFiles {
  return new Map([...entriesOf(folder)].map(({ path: name, stats }) => [name, stateOf(stats)]));
}

/** Takes the files that a point has left. Undefined when it must run in a directory of its own: it has changed a staged file, made
 *  something other than a file, or left what a line cannot have. */
export function takeOutputs(folder: string, staged: StagedFiles): readonly PointOutput[] | undefined {
  try {
    const left = [...entriesOf(folder)];
    const made = left.filter(({ path: name }) => !staged.has(name));
    const kept = left.filter(({ path: name, stats }) => staged.get(name) === stateOf(stats));
    const mayBeTaken = made.every(({ path: name, stats }) => stats.isFile() && name !== POINTS_FILE);
    if (kept.length < staged.size || !mayBeTaken || !mayBeBundled(made)) return undefined;
    return made.map(({ path: name }) => {
      const file = path.join(folder, name);
      const content = fs.readFileSync(file);
      fs.unlinkSync(file);
      return pointOutput(name, content);
    });
  } catch {
    // It has left something that cannot be read, or removed.
    return undefined;
  }
}

interface Entry {
  /** Relative path, with `/`. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly stats: fs.Stats;
}

function* entriesOf(folder: string, prefix = ''): Generator<Entry> {
  for (const name of fs.readdirSync(path.join(folder, prefix)).sort()) {
    const stats = fs.lstatSync(path.join(folder, prefix, name));
    yield { path: `${prefix}${name}`, sizeBytes: stats.size, stats };
    if (stats.isDirectory()) yield* entriesOf(folder, `${prefix}${name}/`);
  }
}

/** Text that differs after a write, a rename, and a change of mode. Folders change with their files, which are entries themselves. */
function stateOf(stats: fs.Stats): string {
  const { ino, mode, size, mtimeMs, ctimeMs } = stats;
  return stats.isDirectory() ? 'folder' : [ino, mode, size, mtimeMs, ctimeMs].join('/');
}
