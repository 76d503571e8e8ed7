// npm test: prepares the clone, then runs all checks and tests. Arguments are passed to vitest: npm test -- shared/domain
import { spawnSync } from 'node:child_process';
import { prepare, root } from './prepare.mjs';

function run(...args) {
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status === 0;
}

try {
  await prepare();
  console.log('Checks:');
  const checked = run('deploy/check.mjs');
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts'];
  const tested = run(...vitest, ...process.argv.slice(2));
  if (!checked) console.error('Checks failed; see their output above the tests.');
  if (!checked || !tested) process.exitCode = 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
