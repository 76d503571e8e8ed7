/** A disk of a few MiB, so that it can be full: a file system in memory, which takes Linux and the rights of root. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where there can be none, tests with one are left out, and the run says so; never under CI, where they fail. */
export function hasSmallDisks(): boolean {
  if (process.env['CI'] !== undefined) return true;
  const folder = mkdtempSync(join(tmpdir(), 'workbench-test-disk-'));
  try {
    mountSmallDisk(folder, 1)();
    return true;
  } catch (error) {
    console.warn(`LEFT OUT, tests of full disks: ${(error as Error).message}`);
    return false;
  } finally {
    rmdirSync(folder);
  }
}

/** Puts such a disk at a path that is a folder, or becomes one; gives what takes it away, with all that is on it. */
export function mountSmallDisk(path: string, sizeMib: number): () => void {
  mkdirSync(path, { recursive: true });
  const run = (program: string, args: readonly string[]) =>
    execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  run('mount', ['-t', 'tmpfs', '-o', `size=${sizeMib}m`, 'tmpfs', path]);
  return () => run('umount', [path]);
}
