// The last line of a CI run, and what makes it fail.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const script = fileURLToPath(new URL('../../.ci/summary.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'verdict-'));
const report = join(folder, 'report.json');

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The verdict on one test file with tests of these statuses. */
function judge(statuses: string[], exitCode = 0, others: readonly string[] = []) {
  const assertionResults = statuses.map((status, index) => ({
    status,
    fullName: `test ${index}`,
    failureMessages: status === 'failed' ? ['Error: one line\n    at another'] : [],
  }));
  const status = statuses.length === 0 || statuses.includes('failed') ? 'failed' : 'passed';
  writeFileSync(report, JSON.stringify({ testResults: [{ name: 'a.test.ts', status, assertionResults }] }));
  return run(exitCode, others);
}

function run(exitCode: number, others: readonly string[] = []) {
  const args = [script, 'npm test', report, String(exitCode), ...others];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { code: status, output: stdout, lastLine: stdout.trimEnd().split('\n').at(-1) };
}

describe('the verdict of a CI run', () => {
  it('is good when every test passed', () => {
    expect(judge(['passed', 'passed'])).toMatchObject({ code: 0, lastLine: '2 passed, 0 failed' });
  });

  it('fails with a failed test, and repeats its failure', () => {
    const verdict = judge(['passed', 'failed'], 1);
    expect(verdict).toMatchObject({ code: 1, lastLine: '1 passed, 1 failed' });
    expect(verdict.output).toContain('FAILED: a.test.ts: test 1\nError: one line\n    at another\n');
  });

  it('repeats a few failures in full, and names all', () => {
    const { output } = judge(Array(8).fill('failed'), 1);
    expect(output.match(/^FAILED: /gm)).toHaveLength(8);
    expect(output.match(/^Error: /gm)).toHaveLength(5);
  });

  it('fails with a skipped test, and names it', () => {
    const verdict = judge(['passed', 'skipped']);
    expect(verdict).toMatchObject({ code: 1, lastLine: '1 passed, 0 failed' });
    expect(verdict.output).toContain('a.test.ts: test 1');
  });

  it('counts a file that could not be loaded as failed', () => {
    expect(judge([], 1)).toMatchObject({ code: 1, lastLine: '0 passed, 1 failed' });
  });

  it('counts a file whose hook failed as failed, though its tests passed', () => {
    const assertionResults = [{ status: 'passed', fullName: 'test', failureMessages: [] }];
    const file = { name: 'a.test.ts', status: 'failed', message: 'hook of the file', assertionResults };
    writeFileSync(report, JSON.stringify({ testResults: [file, { ...file, message: '' }] }));
    const verdict = run(1);
    expect(verdict).toMatchObject({ code: 1, lastLine: '2 passed, 2 failed' });
    expect(verdict.output).toContain('FAILED: a.test.ts\nhook of the file\n');
    expect(verdict.output).toContain('FAILED: a.test.ts\nA hook failed:');
  });

  it('fails when no test ran', () => {
    writeFileSync(report, '');
    expect(run(0)).toMatchObject({ code: 1, lastLine: '0 passed, 0 failed' });
  });

  it('fails when a check failed though every test passed', () => {
    expect(judge(['passed'], 1)).toMatchObject({ code: 1, lastLine: '1 passed, 0 failed' });
  });

  it('is the sum of several runs, each of which must be good', () => {
    const other = join(folder, 'other.json');
    const tests = (status: string) => [{ status, fullName: 'another test' }];
    const write = (status: string) =>
      writeFileSync(
        other,
        JSON.stringify({ testResults: [{ name: 'b.test.ts', status, assertionResults: tests(status) }] }),
      );
    const verdict = (exitCode: number) => judge(['passed'], 0, ['npm run more', other, String(exitCode)]);
    write('passed');
    expect(verdict(0)).toMatchObject({ code: 0, lastLine: '2 passed, 0 failed' });
    expect(verdict(1)).toMatchObject({
      code: 1,
      output: expect.stringContaining('npm run more ended with exit code 1.'),
    });
    write('failed');
    expect(verdict(1)).toMatchObject({ code: 1, lastLine: '1 passed, 1 failed' });
    write('skipped');
    expect(verdict(0)).toMatchObject({
      code: 1,
      output: expect.stringContaining('1 skipped by npm run more'),
    });
    rmSync(other);
    expect(verdict(0)).toMatchObject({
      code: 1,
      output: expect.stringContaining('No test ran by npm run more'),
    });
  });
});
