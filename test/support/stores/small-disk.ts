/** A disk of a few MiB that can be filled: a file system in memory, which needs Linux and root. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether such a disk can be mounted. Without it the tests that need one are skipped, except under CI, where they fail. */
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

/** Mounts such a disk at this path, creating the folder if needed; returns the function that removes it. */
export function mountSmallDisk(path: string, sizeMib: number): () => void {
  mkdirSync(path, { recursive: true });
  const run = (program: string, args: readonly string[]) =>
    execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  run('mount', ['-t', 'tmpfs', '-o', `size=${sizeMib}m`, 'tmpfs', path]);
  return () => run('umount', [path]);
}
