/** Bundles the programs again before the tests that start them: the compiler alone leaves the bundles of an earlier build. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Environment variable of a run whose programs have been bundled; commands of `deploy/` that have just built set it. */
const ARE_BUNDLED = 'PROGRAMS_ARE_BUNDLED';

/** Called by Vitest for each project of the configuration. */
export function setup(): void {
  if (process.env[ARE_BUNDLED] !== undefined) return;
  process.env[ARE_BUNDLED] = 'yes';
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  execFileSync(process.execPath, ['deploy/build-programs.mjs'], { cwd: root, stdio: 'inherit' });
}
