/** A workload of which one subject fails. */
import { expect, it } from 'vitest';
import { limitPipeline } from '../peers/limit.js';
import { runWorkload } from '../run-workload.js';
import type { Subject } from '../subjects/subject.js';
import { throughputWorkload } from './throughput.js';

/** Measures a subject twice, whose second start fails. */
async function measured(subject: Subject) {
  const said: string[] = [];
  let starts = 0;
  const failing: Subject = {
    ...subject,
    start: (setup) =>
      ++starts === 2 ? Promise.reject(new Error('no memory is left')) : subject.start(setup),
  };
  const workload = throughputWorkload({
    name: 'w1',
    what: 'a load',
    load: 'throughput',
    count: 10,
    connections: 1,
    slots: 1,
    subjects: [failing],
    targets: [],
  });
  const result = await runWorkload(workload, {
    runs: 3,
    scale: 1,
    seed: 1,
    plans: false,
    say: (line) => said.push(line),
  });
  return { said, starts, ...result };
}

it('a peer of which a run failed is reported as not measured', async () => {
  const { said, starts, skipped, figures, processes } = await measured(limitPipeline);
  const line = 'limit pipeline: a run failed: no memory is left';
  expect(skipped).toEqual([line]);
  expect(said).toContain(`w1: NOT MEASURED: ${line}`);
  expect(starts).toBe(2);
  expect([figures, processes]).toEqual([[], []]);
});

it('a hub of which a run failed ends the workload', async () => {
  await expect(measured({ ...limitPipeline, isCompared: false })).rejects.toThrow('no memory is left');
});
