/** The quickstart as a user calls it, in a clone that is already installed and built. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Resolves with the output; rejects when the quickstart fails. */
export function run(...args: string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return promisify(execFile)(process.execPath, ['deploy/quickstart/quickstart.mjs', ...args], { cwd: ROOT });
}

/** The folder of the first result that is named. */
export function savedFolder(stdout: string): string {
  const [found] = savedFolders(stdout);
  if (found === undefined) throw new Error(`no result folder is named:\n${stdout}`);
  return found;
}

export function savedFolders(stdout: string): string[] {
  return [...stdout.matchAll(/^Result: \d+ files? in (.+)$/gm)].map(([, path]) => join(ROOT, String(path)));
}

/** Ids of the programs that it started. */
export function pidsIn(stdout: string): number[] {
  return [...stdout.matchAll(/, process (\d+)/g)].map(([, pid]) => Number(pid));
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
