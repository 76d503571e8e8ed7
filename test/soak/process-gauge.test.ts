/** The gauge in a real process that keeps as much as it is told. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.js';
import type { Kept } from './fixtures/leaking-process.js';
import { judge } from './growth.js';
import { COUNTS_OF_A_PROCESS } from './measurements.js';
import { countsOf, gaugeEnvironment, type ProcessCounts } from './process-gauge.js';

const compiled = (file: string) => fileURLToPath(new URL(`../dist/soak/${file}`, import.meta.url));
const NOTHING: Kept = { entries: 0, entriesOfThread: 0, descriptors: 0, bytes: 0 };
const ROUNDS = 10;
/** Time that a round of a soak run takes. */
const ROUND_S = 30;

/** Counts of a process after each round, in each of which it keeps this much; and then the names of the counts that grow. */
async function grown(kept: Partial<Kept>): Promise<{ names: string[]; last: ProcessCounts }> {
  const { path, remove } = await temporaryFolder();
  onTestFinished(remove);
  const file = join(path, 'gauge');
  const child = spawn(process.execPath, [compiled('fixtures/leaking-process.js')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: `--import=${compiled('gauge.js')}`, ...gaugeEnvironment(file) },
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    await lines.next();
    const rounds: ProcessCounts[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      child.stdin.write(`${JSON.stringify({ ...NOTHING, ...kept })}\n`);
      await lines.next();
      rounds.push(await countsOf(child.pid as number, file));
    }
    const names = Object.entries(COUNTS_OF_A_PROCESS)
      .filter(([name, { of, tolerance }]) => {
        const samples = rounds.map((counts, at) => ({ life: 'one', atS: at * ROUND_S, value: counts[of] }));
        return judge({ name, tolerance, samples }).verdict === 'GROWS';
      })
      .map(([name]) => name);
    return { names, last: rounds.at(-1) as ProcessCounts };
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

it('finds no growth in a process that keeps nothing', async () => {
  expect((await grown({})).names).toEqual([]);
});

it('finds the map, by the kind of its entries, and the descriptors that a process leaks', async () => {
  const { names, last } = await grown({ entries: 100, descriptors: 5 });
  expect(names).toEqual(['descriptors', 'entries of maps and sets']);
  expect(last.byKind).toEqual({ 'Map<string, Object{task}>': 100 * ROUNDS });
});

it('finds the memory that a process leaks outside of maps', async () => {
  const { names } = await grown({ bytes: 2 * 1024 ** 2 });
  expect(names).toContain('heap, MiB');
});

it('counts the maps of the threads of a process as well', async () => {
  const { names, last } = await grown({ entriesOfThread: 100 });
  expect(names).toEqual(['entries of maps and sets']);
  expect(last.byKind).toMatchObject({ 'Map<number, string>': 100 * ROUNDS });
});
