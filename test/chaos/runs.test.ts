import { writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.js';
import { auditRuns, ledgerIn } from './runs.js';

/** Findings for the runs of one task. */
async function findings(lines: readonly string[], { hasLost = false, crashesS = [] as number[] } = {}) {
  const { path, remove } = await temporaryFolder();
  onTestFinished(remove);
  writeFileSync(ledgerIn(path), `${lines.join('\n')}\n`);
  const twice: string[] = [];
  auditRuns(ledgerIn(path), new Map([['t', { hasLost }]]), crashesS, twice);
  return twice;
}

const AT_ONCE = ['begin t 1 100.0', 'begin t 2 101.0', 'end t 1 102.0', 'end t 2 103.0'];

it('finds two runs of a task at the same time', async () => {
  expect(await findings(AT_ONCE)).toEqual(['t: a run from 100 s to 102 s, and another from 101 s on']);
});

it('accepts one after the other, also after one that was killed', async () => {
  const lines = ['begin t 1 100.0', 'end t 1 101.0', 'begin t 2 101.0', 'begin t 3 102.0', 'end t 3 103.0'];
  expect(await findings(lines)).toEqual([]);
});

it('accepts runs at the same time when one was lost, or its claim was undone by a crash', async () => {
  expect(await findings(AT_ONCE, { hasLost: true })).toEqual([]);
  expect(await findings(AT_ONCE, { crashesS: [95] })).toEqual([]);
  expect(await findings(AT_ONCE, { crashesS: [50] })).toHaveLength(1);
});
