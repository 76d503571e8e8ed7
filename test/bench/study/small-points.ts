/** W10: a study of very many small points, handed in as one request, beside the same simulations in a bare loop. */
import { fileURLToPath } from 'node:url';
import { compiled } from '../compiled.js';
import type { ProcessUse, Run, Sample, Target, Workload, WorkloadOptions } from '../workload.js';
import { measureBareLoop } from './bare-loop.js';
import { expectSame, INSTANCES, measureHub, QUICKSTART, ratesOf, type StudySubject } from './measured-hub.js';
import { runBundledStudy, runIdleStudy } from './points.js';

const POINTS = 10_000;

const SIMULATIONS: readonly StudySubject[] = [
  { ...QUICKSTART, name: 'study' },
  { ...QUICKSTART, name: 'study, least isolation', args: ['--isolation', 'none'] },
];

const IDLE: StudySubject = {
  ...QUICKSTART,
  name: 'study of points that do nothing',
  program: fileURLToPath(compiled('./idle-process.js', import.meta.url)),
};

const beyond = (name: string) => `${name}: CPU for each job beyond the bare loop`;

export const w10: Workload = {
  name: 'w10',
  what: '10,000 points of a study, MuJoCo jobs of 100 steps on 2 instances, beside the same simulations in a bare loop in 2 processes; 10,000 points that do nothing',
  targets: [
    ...targetsOf('study', 0.35, 2.5),
    ...targetsOf('study, least isolation', 0.7, 0.6),
    { figure: `${IDLE.name}: CPU for each job`, is: 'at most', value: 0.1 },
  ],
  prepare: async (options) => ({ measure: (folder) => measure({ ...options, folder }) }),
};

function targetsOf(name: string, share: number, beyondMs: number): Target[] {
  return [
    { figure: `${name}: jobs`, is: 'at least', value: share, times: 'bare loop: jobs' },
    { figure: beyond(name), is: 'at most', value: beyondMs },
  ];
}

async function measure(options: WorkloadOptions): Promise<Run> {
  const count = Math.max(INSTANCES, Math.ceil(POINTS * options.scale));
  const bare = await measureBareLoop(count, INSTANCES);
  const samples: Sample[] = ratesOf('bare loop', count, bare.seconds, bare.cpuS);
  const processes: ProcessUse[] = [];
  const take = (name: string, hub: Awaited<ReturnType<typeof measureHub>>) => {
    samples.push(...ratesOf(name, count, hub.seconds, hub.cpuS));
    processes.push(...hub.processes.map((use) => ({ ...use, name: `${name}: ${use.name}` })));
  };
  for (const subject of SIMULATIONS) {
    const { name } = subject;
    const hub = await measureHub(options, count, subject, { run: runBundledStudy });
    expectSame(hub.numbers, bare.numbers, name);
    take(name, hub);
    samples.push({ name: beyond(name), value: ((hub.cpuS - bare.cpuS) * 1000) / count, unit: 'ms' });
  }
  const idle = await measureHub(options, count, IDLE, { run: runIdleStudy, warm: runIdleStudy });
  take(IDLE.name, idle);
  return { samples, processes };
}
