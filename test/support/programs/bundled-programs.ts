/** Bundles the programs again before the tests that start them: the compiler alone leaves the bundles of an earlier build. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Called by Vitest. */
export function setup(): void {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  execFileSync(process.execPath, ['deploy/build-programs.mjs'], { cwd: root, stdio: 'inherit' });
}
