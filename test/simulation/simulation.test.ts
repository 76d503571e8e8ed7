import { describe, expect, it } from 'vitest';
import { RARE_FAULTS } from './database/rare-faults.js';
import { simulate } from './simulation.js';
import { Summary } from './summary.js';
import { World } from './world.js';

const SEEDS_A_TEST = 20;
const TESTS = 8;
const TIME_LIMIT_MS = 300_000;

/** Kinds of faults of worlds with one hub, by the row of the page on reliability that names them. */
const FAULTS = {
  hub: [
    'hub killed',
    'hub killed in a sync',
    'hub killed in a sync, without power when it is back',
    'hub stopped',
    'hub without power',
    'hub without power in a sync',
    'hub prepared for shutdown',
  ],
  'its disk': [
    'hub disk full',
    'hub disk failing',
    'hub disk slow',
    'hub sync failed',
    'hub disk failing as a lease ends',
    'hub disk failing as tasks are dispatched',
    'hub disk failing as tasks are removed',
  ],
  'database server and the link to it': [
    'database connections cut',
    'database requests lost',
    'database responses lost',
    'database responses lost as a lease ends',
    'database responses lost as tasks are dispatched',
    'database responses lost as tasks are removed',
    'database cut off',
    'database hangs',
    'database slow',
    'database restarted',
    'database crashed',
    'database failed over to a synchronous standby',
    'database failed over to an asynchronous standby',
    'database without its synchronous standby',
    'database restarted without its synchronous standby, which takes over',
    'database disk full',
    'database deadlocks',
    'database statements time out',
    'database out of connections',
    'database read only',
    'hub killed during a batch',
  ],
  agents: [
    'agent killed',
    'agent stopped',
    'agent without power',
    'agent gone for good',
    'agent drained',
    'agent disk full',
    'agent disk filled by a job',
  ],
  instances: ['instance killed', 'instance commanded'],
  reports: ['report told twice'],
  network: [
    'connection cut',
    'all connections cut',
    'connection half open',
    'agent cut off',
    'messages held up',
    'all agents held up',
    'transfer broken',
  ],
  clocks: ['clock of the hub set', 'clock of an agent set'],
  hubs: ['scheduling hub halted while locks hold up the end of a lease'],
};

describe('the simulation', () => {
  const met = new Set<string>();

  it.each(Array.from({ length: TESTS }, (_, index) => 1 + index * SEEDS_A_TEST))(
    `holds every invariant, with ${SEEDS_A_TEST} seeds from %i on`,
    async (from) => {
      const summary = new Summary();
      for (let seed = from; seed < from + SEEDS_A_TEST; seed++) {
        const outcome = await simulate({ seed });
        summary.add(outcome);
        for (const kind of outcome.faults.keys()) met.add(kind);
        expect(outcome.violations, summary.describe(outcome)).toEqual([]);
      }
    },
    TIME_LIMIT_MS,
  );

  it('meets every kind of fault that the page names, and no other', () => {
    // These worlds are few, and the faults of fewer.
    for (const { kind } of RARE_FAULTS) met.add(kind);
    expect([...met].sort()).toEqual(Object.values(FAULTS).flat().sort());
  });

  it('names a seed that fails with the command that replays it', () => {
    const outcome = { seed: 7, violations: [{ invariant: 'nothing is lost', what: 'a task is gone' }] };
    const described = new Summary('a lease never ends', 'SERVER', 'SEVERAL').describe(outcome as never);
    expect(described).toBe(
      'seed 7 fails: npm run simulate -- --seed 7 --trace --store server --hubs several --broken "a lease never ends"\n' +
        '  nothing is lost: a task is gone',
    );
  });

  it('lets events happen until what they are waited for settles, and fails when nothing will', async () => {
    const world = new World(1);
    const later = new Promise<number>((resolve) => {
      world.after(10, () => resolve(7));
    });
    expect(await world.until(later)).toBe(7);
    await expect(world.until(new Promise(() => undefined))).rejects.toThrow('never settles');
  });

  it('runs the same way for the same seed, with or without a trace', async () => {
    const lines: string[] = [];
    const first = await simulate({ seed: 7 });
    const second = await simulate({ seed: 7, onTrace: (line) => lines.push(line) });
    expect(second).toEqual(first);
    expect(lines.some((line) => line.includes('FAULT'))).toBe(true);
    expect((await simulate({ seed: 8 })).digest).not.toBe(first.digest);
  });
});
