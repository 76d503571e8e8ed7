// The verdict of several runs, from vitest's JSON reports: node .ci/summary.mjs (<command> <report> <exit code>)...
// Names what was skipped, since a skipped test proves nothing. Repeats what failed, since often only the end of a long output is
// kept. Ends with "N passed, N failed".
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** Failures that are repeated in full, and lines of each; the output of the runs has all. */
const FAILURES_IN_FULL = 5;
const LINES_OF_A_FAILURE = 120;

/** Text of a failure without a message: vitest's report has none for a hook of a suite. */
const NO_MESSAGE = 'A hook failed: the output of the run has its error.';

const runs = [];
for (let given = process.argv.slice(2); given.length > 0; given = given.slice(3)) {
  const [command, path, exitCode] = given;
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  runs.push({ command, exitCode, ...countsOf(text === '' ? [] : JSON.parse(text).testResults) });
}

function countsOf(files) {
  const tests = files.flatMap((file) =>
    file.assertionResults.map(({ status, fullName, failureMessages = [] }) => ({
      status,
      name: `${nameOf(file)}: ${fullName}`,
      text: failureMessages.join('\n'),
    })),
  );
  const ofStatus = (wanted) => tests.filter(({ status }) => status === wanted);
  // A file that cannot even be loaded, or whose hooks failed, has no test that failed: it counts as one.
  const broken = files.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  return {
    passed: ofStatus('passed').length,
    failures: [
      ...ofStatus('failed'),
      ...broken.map((file) => ({ name: nameOf(file), text: file.message || NO_MESSAGE })),
    ],
    skipped: tests.filter(({ status }) => status !== 'passed' && status !== 'failed'),
  };
}

function nameOf(file) {
  return relative(process.cwd(), file.name);
}

function print({ name, text }, index) {
  console.log(`FAILED: ${name}`);
  if (index < FAILURES_IN_FULL) console.log(text.split('\n').slice(0, LINES_OF_A_FAILURE).join('\n'));
}

runs.flatMap(({ failures }) => failures).forEach(print);
for (const { command, exitCode, passed, failures, skipped } of runs) {
  for (const { name } of skipped) console.log(`SKIPPED (not allowed here): ${name}`);
  if (skipped.length > 0) console.log(`${skipped.length} skipped by ${command}: this run fails.`);
  if (passed + failures.length + skipped.length === 0)
    console.log(`No test ran by ${command}: this run fails.`);
  if (exitCode !== '0') console.log(`${command} ended with exit code ${exitCode}.`);
  if (runs.length > 1) console.log(`${command}: ${passed} passed, ${failures.length} failed`);
}
const sum = (count) => runs.reduce((all, run) => all + count(run), 0);
console.log(`${sum(({ passed }) => passed)} passed, ${sum(({ failures }) => failures.length)} failed`);
const isGood = ({ exitCode, passed, failures, skipped }) =>
  exitCode === '0' && failures.length === 0 && skipped.length === 0 && passed > 0;
process.exitCode = runs.length > 0 && runs.every(isGood) ? 0 : 1;
