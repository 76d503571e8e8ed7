// npm run test:condor: the suite of drivers of workload managers with a real HTCondor. Debian 12 has none, so that a Debian 13 with one is made in
// ~/.cache/workbench-hub once (560 MB; as root, with debootstrap). Nothing of it runs as root: it could change settings of the kernel. Arguments are
// passed to vitest.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { debianFolder } from './debian-folder.mjs';
import { prepare, root } from './prepare.mjs';

try {
  await prepare();
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'workbench-hub');
  mkdirSync(cache, { recursive: true });
  const system = debianFolder(join(cache, 'condor'), {
    packages: ['condor', 'iproute2'],
    advice: 'tests with HTCondor need root, for a Debian with it',
    log: () => console.log('HTCondor: Debian 13 with it (560 MB, about a minute) ...'),
  });
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts'];
  const { status } = spawnSync(process.execPath, [...vitest, 'test/condor', ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, CONDOR_SYSTEM: system },
  });
  process.exitCode = status ?? 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
