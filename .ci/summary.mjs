// The verdict of several runs, from vitest's JSON reports: node .ci/summary.mjs (<command> <report> <exit code>)...
// Names what was skipped, since a skipped test proves nothing, and ends with "N passed, N failed".
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const runs = [];
for (let given = process.argv.slice(2); given.length > 0; given = given.slice(3)) {
  const [command, path, exitCode] = given;
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  runs.push({ command, exitCode, ...countsOf(text === '' ? [] : JSON.parse(text).testResults) });
}

function countsOf(files) {
  const tests = files.flatMap((file) =>
    file.assertionResults.map(({ status, fullName }) => ({
      status,
      name: `${relative(process.cwd(), file.name)}: ${fullName}`,
    })),
  );
  const withStatus = (wanted) => tests.filter(({ status }) => status === wanted).length;
  // A file that cannot even be loaded holds no test that could fail: it counts as one.
  const broken = files.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  return {
    passed: withStatus('passed'),
    failed: withStatus('failed') + broken.length,
    skipped: tests.filter(({ status }) => status !== 'passed' && status !== 'failed'),
  };
}

for (const { command, exitCode, passed, failed, skipped } of runs) {
  for (const { name } of skipped) console.log(`SKIPPED (not allowed here): ${name}`);
  if (skipped.length > 0) console.log(`${skipped.length} skipped by ${command}: this run fails.`);
  if (passed + failed + skipped.length === 0) console.log(`No test ran by ${command}: this run fails.`);
  if (exitCode !== '0') console.log(`${command} ended with exit code ${exitCode}.`);
  if (runs.length > 1) console.log(`${command}: ${passed} passed, ${failed} failed`);
}
const sum = (count) => runs.reduce((all, run) => all + count(run), 0);
console.log(`${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed)} failed`);
const isGood = ({ exitCode, passed, failed, skipped }) =>
  exitCode === '0' && failed === 0 && skipped.length === 0 && passed > 0;
process.exitCode = runs.length > 0 && runs.every(isGood) ? 0 : 1;
