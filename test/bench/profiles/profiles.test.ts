import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.js';
import { costsOf } from './costs.js';
import { flameGraph } from './flame-graph.js';
import { stacksIn } from './profile.js';

const BUSY = `
  function endOne() { let sum = 0; for (let i = 0; i < 3e6; i++) sum += Math.sqrt(i); return sum; }
  const untilMs = Date.now() + 300;
  while (Date.now() < untilMs) endOne();
`;

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

function profileBusyProcess(): void {
  const { status } = spawnSync(process.execPath, ['--cpu-prof', `--cpu-prof-dir=${folder.path}`, '-e', BUSY]);
  expect(status).toBe(0);
}

describe('profiles of processes', () => {
  it('show the function in which a process spent its time', () => {
    profileBusyProcess();
    const stacks = stacksIn(folder.path, Number.POSITIVE_INFINITY);
    const all = stacks.reduce((sum, { ms }) => sum + ms, 0);
    const busy = stacks.filter(({ frames }) => frames.at(-1)?.name === 'endOne');
    expect(busy.reduce((sum, { ms }) => sum + ms, 0)).toBeGreaterThan(all / 2);
  });

  it('can be read for the last milliseconds only', () => {
    profileBusyProcess();
    const lengthOf = (lastMs: number) => stacksIn(folder.path, lastMs).reduce((sum, { ms }) => sum + ms, 0);
    expect(lengthOf(50)).toBeLessThan(lengthOf(Number.POSITIVE_INFINITY));
  });

  it('are drawn as a flame graph', () => {
    profileBusyProcess();
    const drawn = flameGraph('busy <process>', stacksIn(folder.path, Number.POSITIVE_INFINITY));
    expect(drawn).toMatch(/^<svg .*busy &lt;process&gt;.*>endOne.*<\/svg>\n$/s);
  });
});

describe('costs of steps', () => {
  const stack = (ms: number, ...names: [name: string, file: string][]) => ({
    frames: names.map(([name, file]) => ({ name, file })),
    ms,
  });

  it('belong to the innermost step, and add up to the cost of a task', () => {
    const costs = costsOf(
      'hub',
      [
        stack(
          1,
          ['flush', 'hub/store/sqlite/connection/group-commit.js'],
          ['endTask', 'hub/store/sqlite/tasks/attempt-writes.js'],
          ['run', ''],
        ),
        stack(2, ['flush', 'hub/store/sqlite/connection/group-commit.js'], ['run', '']),
        stack(1, ['listOnTimeout', 'node:internal/timers']),
      ],
      400,
    );
    expect(costs).toEqual([
      { where: 'hub', step: 'begin and commit', us: 200 },
      { where: 'hub', step: 'end the task', us: 100 },
      { where: 'hub', step: 'Node.js between these steps', us: 100 },
    ]);
  });
});
