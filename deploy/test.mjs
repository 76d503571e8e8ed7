// npm test: prepares the clone, then runs all checks and tests, but those of test/left-to-ci.json, which take minutes and fail for
// few changes. CI=true npm test, and npm test -- --all, run these too. Other arguments are passed to vitest: npm test -- shared/domain
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, root } from './prepare.mjs';

async function run(args, env = {}) {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  const [code] = await once(child, 'exit');
  return code === 0;
}

const args = process.argv.slice(2).filter((arg) => arg !== '--all');
const isAll = process.env.CI || process.argv.includes('--all');
const isPart = args.some((arg) => !arg.startsWith('-'));
const leftOut = isAll || isPart ? [] : JSON.parse(readFileSync(join(root, 'test/left-to-ci.json'), 'utf8'));

try {
  let checked = false;
  await prepare({
    whenBuilt: async () => {
      console.log('Checks:');
      checked = await run(['deploy/check.mjs']);
    },
  });
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts'];
  const tested = await run([...vitest, ...args], { LEFT_OUT: leftOut.join(), PROGRAMS_ARE_BUNDLED: 'yes' });
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
