// The verdict of a run, from vitest's JSON report: node .ci/summary.mjs <report> <exit code of npm test>
// Names what was skipped, since a skipped test proves nothing, and ends with "N passed, N failed".
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const [path, exitCode] = process.argv.slice(2);
const text = readFileSync(path, 'utf8');
const files = text === '' ? [] : JSON.parse(text).testResults;

const tests = files.flatMap((file) =>
  file.assertionResults.map(({ status, fullName }) => ({
    status,
    name: `${relative(process.cwd(), file.name)}: ${fullName}`,
  })),
);
const passed = tests.filter((test) => test.status === 'passed').length;
// A file that cannot even be loaded holds no test that could fail: it counts as one.
const broken = files.filter((file) => file.status === 'failed' && file.assertionResults.length === 0).length;
const failed = tests.filter((test) => test.status === 'failed').length + broken;
const skipped = tests.filter((test) => test.status !== 'passed' && test.status !== 'failed');

for (const test of skipped) console.log(`SKIPPED (not allowed here): ${test.name}`);
if (skipped.length > 0) console.log(`${skipped.length} skipped: this run fails.`);
if (tests.length === 0) console.log('No test ran: this run fails.');
if (exitCode !== '0') console.log(`npm test ended with exit code ${exitCode}.`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = exitCode === '0' && failed === 0 && skipped.length === 0 && passed > 0 ? 0 : 1;
