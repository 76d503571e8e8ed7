/** Runs a program of this repository that ends by itself, with something on its standard input. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface CommandOutcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function runCommand(
  script: string,
  args: readonly string[],
  { cwd, input = '' }: { readonly cwd: string; readonly input?: string },
): Promise<CommandOutcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [join(ROOT, script), ...args],
      { cwd },
      (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? -1) : 0, stdout, stderr });
      },
    );
    child.stdin?.end(input);
  });
}
