// npm test: prepares the clone, then runs all checks and tests, but those of test/left-to-ci.json, which take minutes and fail for
// few changes. CI=true npm test, and npm test -- --all, run these too. Other arguments are passed to vitest: npm test -- shared/domain
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, root } from './prepare.mjs';

function run(args, env = {}) {
  return (
    spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
      .status === 0
  );
}

const args = process.argv.slice(2).filter((arg) => arg !== '--all');
const isAll = process.env.CI || process.argv.includes('--all');
const isPart = args.some((arg) => !arg.startsWith('-'));
const leftOut = isAll || isPart ? [] : JSON.parse(readFileSync(join(root, 'test/left-to-ci.json'), 'utf8'));

try {
  await prepare();
  console.log('Checks:');
  const checked = run(['deploy/check.mjs']);
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts'];
  const tested = run([...vitest, ...args], { LEFT_OUT: leftOut.join() });
  if (!checked) console.error('Checks failed; see their output above the tests.');
  if (leftOut.length > 0)
    console.log(`NOT RUN, left to CI (npm test -- --all runs them too): ${leftOut.join(', ')}`);
  if (!isPart)
    console.log(
      'NOT RUN, commands of their own, each with a Debian 13: npm run test:condor, npm run test:windows',
    );
  if (!checked || !tested) process.exitCode = 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
