// npm run test:postgres: the tests of the REST interface, and the scenarios that exercise the store, with each hub on a PostgreSQL
// database. Arguments are passed to vitest; paths among them replace the suites: npm run test:postgres -- test/contract/quota.test.ts
import { spawnSync } from 'node:child_process';
import { prepare, root } from './prepare.mjs';

const SCENARIOS = [
  'agents-and-several-hubs',
  'failures',
  'followed-events',
  'killed-and-stalled',
  'main-job',
  'postgresql-page',
  'reload',
  'restarts-under-load',
  'storage',
  'two-hundred-jobs',
  'users-of-a-running-hub',
  'webhooks',
];
const SUITES = ['test/contract/', ...SCENARIOS.map((name) => `test/scenarios/${name}.test.ts`)];

try {
  await prepare();
  const given = process.argv.slice(2);
  const suites = given.some((argument) => !argument.startsWith('-')) ? [] : SUITES;
  const { status } = spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...suites, ...given],
    { cwd: root, stdio: 'inherit', env: { ...process.env, STORE: 'postgres' } },
  );
  if (status !== 0) process.exitCode = 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
