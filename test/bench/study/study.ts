/**
 * A study of many small simulations on the hub, and the same simulations in a bare loop over a loaded simulator in as
 * many processes. Each job parses its model, simulates 100 steps, and writes one number, which must be the same in both.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { rssMib } from '../machine.js';
import { startHub } from '../subjects/hub.js';
import type { ProcessUse, Run, Sample, Workload, WorkloadOptions } from '../workload.js';
import { measureBareLoop, WARM_POINTS } from './bare-loop.js';
import { expectSame, INSTANCES, measureHub, QUICKSTART, ratesOf, type StudySubject } from './measured-hub.js';
import { runStudy, runStudyAgain, waitingStudy } from './points.js';

const POINTS = 1000;
const BEYOND_LIMIT_MS = 6;

/** Points on the hub of the quickstart. */
const LARGE_STUDY_POINTS = 2000;
/** Points that reuse results in a second, at least: 10,000 in 5 seconds. */
const REUSED_LIMIT_PER_S = 2000;
const WAITING_POINTS = 1_000_000;

const SUBJECTS: readonly StudySubject[] = [
  { name: 'hub', agents: ['a', 'b'], args: [] },
  { name: 'hub, least isolation', agents: ['a', 'b'], args: ['--isolation', 'none'] },
];

export const w8: Workload = {
  name: 'w8',
  what: '1,000 MuJoCo jobs of 100 steps on 2 instances, beside the same simulations in a bare loop in 2 processes',
  targets: [
    { figure: 'hub: jobs', is: 'at least', value: 0.2, times: 'bare loop: jobs' },
    { figure: 'hub: CPU for each job beyond the bare loop', is: 'at most', value: BEYOND_LIMIT_MS },
    { figure: 'hub, least isolation: jobs', is: 'at least', value: 0.6, times: 'bare loop: jobs' },
  ],
  prepare: async (options) => ({ measure: (folder) => measureBeside(folder, options) }),
};

export const study: Workload = {
  name: 'study',
  what: '2,000 points: MuJoCo jobs as in w8, as single tasks and as one study, on a hub and an agent with 2 instances; the study again with reuse; 1,000,000 waiting points',
  targets: [
    { figure: 'one study: jobs', is: 'at least', value: 1, times: 'single tasks: jobs' },
    {
      figure: 'one study: CPU for each job',
      is: 'at most',
      value: 1,
      times: 'single tasks: CPU for each job',
    },
    { figure: 'the study again, with reuse: points', is: 'at least', value: REUSED_LIMIT_PER_S },
  ],
  prepare: async (options) => ({ measure: (folder) => measureLargeStudy(folder, options) }),
};

async function measureLargeStudy(folder: string, options: WorkloadOptions): Promise<Run> {
  const count = Math.max(INSTANCES, Math.ceil(LARGE_STUDY_POINTS * options.scale));
  const single = await measureHub({ ...options, folder }, count, { ...QUICKSTART, name: 'single tasks' });
  const whole = await measureHub(
    { ...options, folder },
    count,
    { ...QUICKSTART, name: 'one study' },
    { run: runStudy, runAgain: runStudyAgain },
  );
  expectSame(whole.numbers, single.numbers, 'one study');
  return {
    samples: [
      ...ratesOf('single tasks', count, single.seconds, single.cpuS),
      ...ratesOf('one study', count, whole.seconds, whole.cpuS),
      { name: 'the study again, with reuse: points', value: count / (whole.againS ?? 0), unit: 'per s' },
      ...(await measureWaiting({ ...options, folder })),
    ],
    processes: [
      ...single.processes.map((use) => ({ ...use, name: `single tasks: ${use.name}` })),
      ...whole.processes.map((use) => ({ ...use, name: `one study: ${use.name}` })),
    ],
  };
}

async function measureBeside(folder: string, options: WorkloadOptions): Promise<Run> {
  const count = Math.max(INSTANCES, Math.ceil(POINTS * options.scale));
  const bare = await measureBareLoop(count, INSTANCES);
  const samples = ratesOf('bare loop', count, bare.seconds, bare.cpuS);
  const processes: ProcessUse[] = [];
  for (const subject of SUBJECTS) {
    const { name } = subject;
    const hub = await measureHub({ ...options, folder }, count, subject);
    expectSame(hub.numbers, bare.numbers, name);
    processes.push(...hub.processes.map((use) => ({ ...use, name: `${name}: ${use.name}` })));
    const beyondMs = ((hub.cpuS - bare.cpuS) * 1000) / count;
    samples.push(
      ...ratesOf(name, count, hub.seconds, hub.cpuS),
      { name: `${name}: jobs, cold`, value: Math.min(count, WARM_POINTS) / hub.coldS, unit: 'per s' },
      { name: `${name}: CPU for each job beyond the bare loop`, value: beyondMs, unit: 'ms' },
    );
  }
  return { samples, processes };
}

/** Memory of a hub beside that of one with a study of very many points, none of which may begin. */
async function measureWaiting({ folder: parent, scale }: WorkloadOptions): Promise<Sample[]> {
  const count = Math.max(10, Math.ceil(WAITING_POINTS * scale));
  const folder = join(parent, 'waiting-points');
  mkdirSync(folder);
  const running = await startHub(
    { folder, slots: 0, paused: false },
    { agents: [], settings: { studies: { maxPoints: WAITING_POINTS } } },
  );
  try {
    const pid = running.pids.get('hub') ?? 0;
    const before = rssMib(pid);
    await waitingStudy(running.port, count);
    return [
      { name: 'hub before: memory', value: before, unit: 'MiB' },
      { name: 'hub with a study of waiting points: memory', value: rssMib(pid), unit: 'MiB' },
    ];
  } finally {
    await running.stop();
  }
}
