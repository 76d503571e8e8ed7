import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.js';
import { costsOf } from './costs.js';
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
});

describe('costs of a task', () => {
  const stack = (ms: number, ...names: [name: string, file: string][]) => ({
    frames: names.map(([name, file]) => ({ name, file })),
    ms,
  });
  const costOf = (...stacks: ReturnType<typeof stack>[]) =>
    costsOf('hub', stacks, 400).map(({ part, us }) => [part, us]);

  it('belong to the innermost file of the product, and add up', () => {
    const commit = 'hub/store/sqlite/connection/group-commit.js';
    const writes = 'hub/store/sqlite/tasks/attempt-writes.js';
    expect(
      costOf(
        stack(1, ['flush', commit], ['endTask', writes], ['run', '']),
        stack(2, ['flush', commit], ['run', '']),
        stack(1, ['listOnTimeout', 'node:internal/timers']),
      ),
    ).toEqual([
      [commit, 200],
      [writes, 100],
      ['Node.js', 100],
    ]);
  });

  it('without a file of the product belong to a package, Node.js, or the native function', () => {
    expect(
      costOf(
        stack(5, ['onParser', 'node:_http_server'], ['send', '@hono/node-server/dist/index.js']),
        stack(3, ['onParser', 'node:_http_server']),
        stack(2, ['(garbage collector)', '']),
      ),
    ).toEqual([
      ['@hono/node-server', 200],
      ['Node.js', 120],
      ['(garbage collector)', 80],
    ]);
  });

  it('are listed for the twelve most costly parts', () => {
    const files = Array.from({ length: 15 }, (_, at) => stack(15 - at, ['run', `hub/${at}.js`]));
    const listed = costOf(...files);
    expect(listed).toHaveLength(13);
    expect(listed.at(-1)).toEqual(['other parts', ((3 + 2 + 1) / 120) * 400]);
  });
});
