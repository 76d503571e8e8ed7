import { describe, expect, it } from 'vitest';
import { SlurmWatch } from './slurm-watch.js';

/** Findings of one look. */
interface Look {
  /** Tasks that wait; undefined while the hub is away. */
  readonly waiting: number | undefined;
  /** Lines of squeue; undefined while Slurm does not answer. */
  readonly jobs: readonly string[] | undefined;
  /** States of allocations, as the hub tells them, by name. */
  readonly states?: Readonly<Record<string, string>>;
}

/** Watch over hosts of two instances, after these looks. */
async function after(...looks: readonly Look[]): Promise<SlurmWatch> {
  let now: Look = { waiting: 0, jobs: [] };
  const watch = new SlurmWatch({
    instances: 2,
    cluster: {
      runInside: async () => {
        if (now.jobs === undefined) throw new Error('Unable to contact slurm controller');
        return now.jobs.join('\n');
      },
    },
    load: {
      counts: async () => (now.waiting === undefined ? undefined : { WAITING: now.waiting, RUNNING: 0 }),
      get: async () => ({
        content: [{ allocations: Object.entries(now.states ?? {}).map(([id, state]) => ({ id, state })) }],
      }),
    },
  });
  for (now of looks) await watch.look();
  return watch;
}

const pending = (name: string) => `${name}|PENDING|N/A`;
const running = (name: string) => `${name}|RUNNING|2026-01-05T12:00:00`;

describe('allocations beyond the need', () => {
  it('are wrong from the second on', async () => {
    const one = await after({ waiting: 2, jobs: [pending('a'), pending('b')] });
    expect([one.wrong, one.mostBeyond]).toEqual([[], 1]);

    const two = await after({ waiting: 2, jobs: [pending('a'), pending('b'), pending('c')] });
    expect(two.wrong).toEqual(['3 allocations were coming for tasks that needed 1']);
    expect(two.mostBeyond).toBe(2);
  });

  it('include those that run and whose agents have not joined', async () => {
    const jobs = [running('a'), running('b'), pending('c')];
    expect((await after({ waiting: 2, jobs, states: { a: 'STARTED' } })).wrong).toHaveLength(1);
    expect((await after({ waiting: 2, jobs, states: { a: 'JOINED' } })).wrong).toEqual([]);
    expect((await after({ waiting: 2, jobs, states: { a: 'DRAINING' } })).wrong).toEqual([]);
  });

  it('have 25 looks to go after the tasks have gone', async () => {
    const jobs = [pending('a'), pending('b')];
    const looks = (count: number): Look[] => [
      { waiting: 4, jobs },
      ...Array.from({ length: count }, () => ({ waiting: 0, jobs })),
    ];
    expect((await after(...looks(24))).wrong).toEqual([]);
    expect((await after(...looks(25))).wrong).toEqual(['2 allocations were coming for tasks that needed 0']);
  });

  it('are not judged while the hub or Slurm is away', async () => {
    const jobs = [pending('a'), pending('b'), pending('c')];
    const watch = await after({ waiting: undefined, jobs }, { waiting: 0, jobs: undefined });
    expect(watch.wrong).toEqual([]);
  });
});
