import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.js';
import { type Reach, testsAt, withReachCalls } from './reach.js';

const FILE = 'hub/core/a.ts';
const TEXT = 'const a = 1; function b() { return () => { return c; }; } const d = () => 2;';

/** Regions that run when a text with calls is run and `use` is called with what it defines. */
function reachedBy(text: string, use: string): readonly string[] {
  const reached: string[] = [];
  const global = globalThis as { __reached?: (region: string) => void };
  global.__reached = (region) => reached.push(region);
  try {
    new Function(`${withReachCalls(text, FILE)}; ${use}`)();
  } finally {
    delete global.__reached;
  }
  return reached;
}

const reachOf = (tests: Readonly<Record<string, readonly string[]>>, failing: string[] = []): Reach => ({
  tests: Object.fromEntries(
    Object.entries(tests).map(([test, regions]) => [test, { tookMs: 1000 * regions.length, regions }]),
  ),
  failing,
  groups: [],
  code: '',
});

const placeOf = (part: string) => TEXT.indexOf(part);

describe('the reach of tests', () => {
  it('is recorded by a call in each function with statements', () => {
    const [outer, ...others] = reachedBy(TEXT, 'b()');
    expect(others).toEqual([]);
    const [again, inner] = reachedBy(TEXT, 'const c = 0; b()()');
    expect(again).toBe(outer);
    expect(inner).not.toBe(outer);
    expect(reachedBy(TEXT, 'd()')).toEqual([]);
  });

  it('counts what the programs of a test reach, whatever environment it gives them', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const file = join(folder.path, 'reached.txt');
    const inner = `globalThis.__reached('inner'); globalThis.__reached('inner')`;
    const outer = `globalThis.__reached('outer');
      require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(inner)}], { env: {} });`;
    const env = {
      NODE_OPTIONS: `--import ${join(process.cwd(), 'test/mutation/record-reached.mjs')}`,
      REACHED_IN: file,
      REACHED_BY: 'a.test.ts',
    };
    await promisify(execFile)(process.execPath, ['-e', outer], { env });
    const lines = (await readFile(file, 'utf8')).trim().split('\n');
    expect(lines).toEqual(['a.test.ts\touter', 'a.test.ts\tinner']);
  });

  it('gives for a place the tests that reach its function, first those that look at little else', () => {
    const [outer = '', inner = ''] = reachedBy(TEXT, 'const c = 0; b()()');
    const reach = reachOf(
      {
        'all.test.ts': [outer, inner, 'hub/core/b.ts:3'],
        'outer.test.ts': [outer],
        'other.test.ts': ['hub/core/b.ts:3'],
        'fails.test.ts': [outer, inner],
      },
      ['fails.test.ts'],
    );
    expect(testsAt(reach, FILE, TEXT, placeOf('return ()'))).toEqual(['outer.test.ts', 'all.test.ts']);
    expect(testsAt(reach, FILE, TEXT, placeOf('c;'))).toEqual(['all.test.ts']);
  });

  it('gives for code outside of functions all tests that reach the file', () => {
    const [outer = ''] = reachedBy(TEXT, 'b()');
    const reach = reachOf({ 'outer.test.ts': [outer], 'other.test.ts': ['hub/core/b.ts:3'] });
    expect(testsAt(reach, FILE, TEXT, placeOf('1;'))).toEqual(['outer.test.ts']);
  });

  it('gives for a file without functions all tests that reach its folder', () => {
    const reach = reachOf({ 'near.test.ts': ['hub/core/b.ts:3'], 'far.test.ts': ['hub/engine/b.ts:3'] });
    expect(testsAt(reach, 'hub/core/constants.ts', 'export const A = 1;', 17)).toEqual(['near.test.ts']);
  });
});
