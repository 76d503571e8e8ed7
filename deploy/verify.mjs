// npm run verify: the whole verdict, as CI gives it. npm run verify -- --changed [REVISION]: what the changes since a revision can have
// touched, in some three minutes: all checks, and the tests that import a changed file, nearest first. Without a revision, the changes
// that are not committed count, or else the last commit.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepare, root } from './prepare.mjs';

/** Time after which no further tests begin. */
const LIMIT_MS = 130_000;

const CONFIG = 'test/vitest.config.ts';

/** Looked at by any change: names, pages and lists of the repository, and the main job with real processes. */
const ALWAYS = ['test/repository/', 'test/scenarios/main-job.test.ts'];

/** Folders whose tests start programs, or run for long. */
const LATE = ['test/conformance/', 'test/simulation/', 'test/console/', 'test/scenarios/', 'test/bench/'];

/** Files that are given to vitest at a time. */
const AT_ONCE = 25;

const CRUISED = ['shared', 'hub', 'agent', 'packages', 'test', 'deploy'];

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}

/** The revision with which the files are compared. */
function baseOf(given) {
  if (given !== undefined) {
    try {
      return git('rev-parse', '--verify', '--quiet', `${given}^{commit}`);
    } catch (cause) {
      throw new Error(`there is no revision ${given}: name a commit, a branch or a tag`, { cause });
    }
  }
  return git('status', '--porcelain') === '' ? 'HEAD~1' : 'HEAD';
}

function changedSince(base) {
  const tracked = git('diff', '--name-only', '-z', base).split('\0');
  const added = git('ls-files', '--others', '--exclude-standard', '-z').split('\0');
  return [...new Set([...tracked, ...added])].filter((file) => file !== '');
}

/** Tests that import a file changed since a revision, directly or not. */
function testsSince(base) {
  const cruise = [
    'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
    '--config',
    '.dependency-cruiser.cjs',
  ];
  const output = execFileSync(
    process.execPath,
    [...cruise, '--affected', base, '--output-type', 'json', ...CRUISED],
    { cwd: root, maxBuffer: 1e9 },
  );
  const sources = JSON.parse(output).modules.map(({ source }) => source);
  return sources.filter((source) => source.endsWith('.test.ts'));
}

/** Number of folders that a test has in common with the nearest changed file. */
function nearness(test, files) {
  const folders = test.split('/').slice(0, -1);
  return Math.max(
    ...files.map((file) => {
      const others = file.split('/').slice(0, -1);
      const end = folders.findIndex((folder, at) => folder !== others[at]);
      return end < 0 ? folders.length : end;
    }),
  );
}

function inOrder(tests, files) {
  const isLate = (test) => LATE.some((folder) => test.startsWith(folder));
  return tests.sort(
    (a, b) =>
      Number(isLate(a)) - Number(isLate(b)) || nearness(b, files) - nearness(a, files) || a.localeCompare(b),
  );
}

function passes(script, ...args) {
  const { status } = spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: 'inherit' });
  return status === 0;
}

/** Runs tests until some fail or the time is over; true when none of those that ran failed. */
function runInTime(tests, startedMs) {
  const waiting = [...tests];
  while (waiting.length > 0 && performance.now() - startedMs < LIMIT_MS) {
    const some = waiting.splice(0, AT_ONCE);
    if (!passes('node_modules/vitest/vitest.mjs', 'run', '--config', CONFIG, ...some)) return false;
  }
  tell(waiting, 'for want of time');
  return true;
}

/** Says which tests did not run, and why. */
function tell(tests, why) {
  if (tests.length === 0) return;
  const folders = new Map();
  for (const test of tests) {
    const folder = test.split('/').slice(0, -1).slice(0, 2).join('/');
    folders.set(folder, (folders.get(folder) ?? 0) + 1);
  }
  const counts = [...folders].map(([folder, count]) => `${count} of ${folder}`);
  console.log(`NOT RUN, ${why} (npm test -- --all runs them): ${counts.join(', ')}`);
}

async function verifyChanged(given) {
  const startedMs = performance.now();
  await prepare();
  const base = baseOf(given);
  const files = changedSince(base);
  console.log(`Changed since ${git('rev-parse', '--short', base)}: ${files.length} files`);
  console.log('Checks:');
  const isChecked = passes('deploy/check.mjs');
  const leftOut = JSON.parse(readFileSync(join(root, 'test/left-to-ci.json'), 'utf8'));
  const related = testsSince(base);
  const long = related.filter((test) => leftOut.includes(test));
  const tests = related.filter(
    (test) => !leftOut.includes(test) && !ALWAYS.some((each) => test.startsWith(each)),
  );
  const isTested = runInTime([...ALWAYS, ...inOrder(tests, files)], startedMs);
  tell(long, 'left to CI');
  if (!isChecked || !isTested) process.exitCode = 1;
}

const [option, revision, ...others] = process.argv.slice(2);
if (option === undefined)
  process.exitCode = spawnSync('bash', ['.ci/run'], { cwd: root, stdio: 'inherit' }).status ?? 1;
else if (option !== '--changed' || others.length > 0) {
  console.error('usage: npm run verify, or npm run verify -- --changed [REVISION]');
  process.exitCode = 2;
} else {
  await verifyChanged(revision).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
