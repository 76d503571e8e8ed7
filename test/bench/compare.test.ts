import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.js';
import { compare } from './compare.js';
import { comparedTable } from './table.js';

/** A benchmark whose figures are `rate` times the number of runs so far, and one that only this revision has. It misses its target. */
const benchmark = (rate: number, other: string) => `
const { appendFileSync, readFileSync, writeFileSync } = require('node:fs');
appendFileSync('runs.txt', 'x');
const runs = readFileSync('runs.txt', 'utf8').length;
const args = process.argv.slice(2);
const figures = [
  { name: 'tasks', unit: 'per s', median: ${rate} * runs },
  { name: args.slice(0, -1).join(' '), unit: 'ms', median: 1 },
  { name: '${other}', unit: 'ms', median: 1 },
];
writeFileSync(args.at(-1), JSON.stringify({ results: [{ workload: 'w1', figures }] }));
process.exitCode = 1;
`;

let root: string;
let said: string[];

beforeEach(async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  root = folder.path;
  said = [];
  await mkdir(join(root, 'deploy'));
  await mkdir(join(root, 'test/dist/bench'), { recursive: true });
  git('init', '--quiet', '--initial-branch', 'main');
  await commit(benchmark(100, 'old'), 'before');
  await commit(benchmark(150, 'new'), 'now');
});

function git(...args: string[]): void {
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.org'];
  execFileSync('git', [...author, ...args], { cwd: root, stdio: 'pipe' });
}

async function commit(text: string, tag: string, prepare = ''): Promise<void> {
  await writeFile(join(root, 'deploy/bench.mjs'), prepare);
  await writeFile(join(root, 'test/dist/bench/main.js'), text);
  git('add', '.');
  git('commit', '--quiet', '--message', tag);
  git('tag', tag);
}

const compareWith = (revision: string) =>
  compare({ root, revision, runs: 3, args: ['w1', '--scale', '1'], say: (line) => said.push(line) });

describe('two revisions', () => {
  it('are measured in turns, with the medians of both and their ratio', async () => {
    const compared = await compareWith('before');
    const args = 'w1 --scale 1 --runs 1 --json';
    expect(compared).toMatchObject([
      {
        workload: 'w1',
        figures: [
          { name: 'tasks', before: { median: 200, lowest: 100, highest: 300 }, now: { median: 300 } },
          { name: args },
        ],
        others: ['old', 'new'],
      },
    ]);
    expect(comparedTable(compared[0]?.figures ?? [], 'before').split('\n')[1]).toMatch(
      /^tasks +200 +300 +per s +1\.50 +100 to 300 +150 to 450$/,
    );
    expect(said.filter((line) => line.startsWith('\n')).map((line) => line.split(': ')[1])).toEqual([
      'before',
      'this clone',
      'this clone',
      'before',
      'before',
      'this clone',
    ]);
  });

  it('are refused when one is unknown, cannot be prepared, or leaves no figures', async () => {
    await expect(compareWith('never')).rejects.toThrow(
      '--compare must be a commit, branch or tag of this clone, not "never"',
    );
    await commit('', 'silent');
    await expect(compareWith('before')).rejects.toThrow(`the benchmark in ${root} left no figures`);
    await commit('', 'broken', 'process.exit(1);');
    await expect(compareWith('broken')).rejects.toThrow('broken could not be prepared');
  });
});
