/** Python of Debian, for peers whose workers or clients are programs of it. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { installed } from '../subjects/server-program.js';

/** Folder of the programs: this file runs from its source in tests, and compiled in the benchmark. */
export const PYTHON_FOLDER = fileURLToPath(new URL('.', import.meta.url)).replace(
  /test[/\\]dist[/\\]bench/,
  'test/bench',
);

export function python(): string | undefined {
  return installed('python3', ['/usr/bin']);
}

/** Whether these modules can be imported. */
export function hasModules(...modules: readonly string[]): boolean {
  const program = python();
  if (program === undefined) return false;
  try {
    execFileSync(program, ['-c', `import ${modules.join(', ')}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
