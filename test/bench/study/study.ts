/**
 * A study of many small simulations on the hub, and the same simulations in a bare loop over a loaded simulator in as
 * many processes. Each job parses its model, simulates 100 steps, and writes one number, which must be the same in both.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compiled } from '../compiled.js';
import { rssMib, treeUsesOf } from '../machine.js';
import { ROOT, startHub } from '../subjects/hub.js';
import type { ProcessUse, Run, Sample, Workload, WorkloadOptions } from '../workload.js';
import type { FromBareLoop, ToBareLoop } from './bare-loop-process.js';
import { runPoints, runStudy, runStudyAgain, waitingStudy } from './points.js';

const POINTS = 1000;
const INSTANCES = 2;
/** Simulations before the measured ones. */
const WARM_POINTS = 50;
const BEYOND_LIMIT_MS = 15;

/** Points on the hub of the quickstart. */
const LARGE_STUDY_POINTS = 2000;
/** Points that reuse results in a second, at least: 10,000 in 5 seconds. */
const REUSED_LIMIT_PER_S = 2000;
const WAITING_POINTS = 1_000_000;

/** A hub with agents of these ids, whose instances have these arguments. */
interface StudySubject {
  readonly name: string;
  readonly agents: readonly string[];
  readonly args: readonly string[];
}

const SUBJECTS: readonly StudySubject[] = [
  { name: 'hub', agents: ['a', 'b'], args: [] },
  { name: 'hub, least isolation', agents: ['a', 'b'], args: ['--isolation', 'none'] },
];

/** As the quickstart has it: one agent, whose instances share a process. */
const QUICKSTART: StudySubject = { name: 'hub of the quickstart', agents: ['quickstart-host'], args: [] };

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
  const bare = await measureBareLoop(count);
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

function ratesOf(name: string, count: number, seconds: number, cpuS: number): Sample[] {
  return [
    { name: `${name}: jobs`, value: count / seconds, unit: 'per s' },
    { name: `${name}: CPU for each job`, value: (cpuS * 1000) / count, unit: 'ms' },
  ];
}

/** Fails unless both have the same number for every point, bit for bit. */
function expectSame(numbers: readonly string[], expected: readonly string[], name: string): void {
  const at = expected.findIndex((each, point) => each !== numbers[point]);
  if (at >= 0) throw new Error(`${name}: point ${at} is ${numbers[at]}, and not ${expected[at]}`);
}

interface Measured {
  readonly seconds: number;
  readonly cpuS: number;
  readonly numbers: readonly string[];
}

/** Ways to run all points. */
interface HandIn {
  readonly run: typeof runPoints;
  /** Runs them once more, after the measured time. */
  readonly runAgain?: typeof runPoints;
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

async function measureHub(
  { folder: parent, profiles }: WorkloadOptions,
  count: number,
  { name, agents, args }: StudySubject,
  { run, runAgain }: HandIn = { run: runPoints },
): Promise<Measured & { coldS: number; againS?: number; processes: readonly ProcessUse[] }> {
  const program = join(ROOT, 'packages/workbench-mujoco/bin/workbench-mujoco.js');
  const mujoco = { version: '1.0.0', labels: [], command: [process.execPath, program, ...args] };
  const folder = join(parent, name.replaceAll(/\W+/g, '-'));
  mkdirSync(folder);
  const running = await startHub(
    { folder, slots: INSTANCES, paused: false, ...(profiles === undefined ? {} : { profiles }) },
    { agents, instances: agents.map(() => mujoco) },
  );
  try {
    const coldFrom = performance.now();
    await runPoints(running.port, Math.min(count, WARM_POINTS));
    const coldS = (performance.now() - coldFrom) / 1000;
    const before = sumOf(treeUsesOf(running.pids));
    const began = performance.now();
    const numbers = await run(running.port, count);
    const seconds = (performance.now() - began) / 1000;
    const processes = treeUsesOf(running.pids);
    const measured = { seconds, coldS, cpuS: sumOf(processes) - before, numbers, processes };
    if (!runAgain) return measured;
    const againFrom = performance.now();
    expectSame(await runAgain(running.port, count), numbers, `${name} again`);
    return { ...measured, againS: (performance.now() - againFrom) / 1000 };
  } finally {
    await running.stop();
  }
}

function sumOf(processes: readonly ProcessUse[]): number {
  return processes.reduce((sum, { cpuS }) => sum + cpuS, 0);
}

async function measureBareLoop(count: number): Promise<Measured> {
  const loops = Array.from({ length: INSTANCES }, () => new BareLoop());
  try {
    await Promise.all(loops.map((loop) => loop.run({ from: 0, to: WARM_POINTS })));
    const each = count / INSTANCES;
    const began = performance.now();
    const parts = await Promise.all(
      loops.map((loop, at) => loop.run({ from: Math.floor(at * each), to: Math.floor((at + 1) * each) })),
    );
    const seconds = (performance.now() - began) / 1000;
    const cpuS = parts.reduce((sum, part) => sum + part.cpuS, 0);
    return { seconds, cpuS, numbers: parts.flatMap(({ numbers }) => numbers) };
  } finally {
    await Promise.all(loops.map((loop) => loop.stop()));
  }
}

/** A process that loads the simulator once. */
class BareLoop {
  readonly #child: ChildProcess = fork(fileURLToPath(compiled('./bare-loop-process.js', import.meta.url)), {
    execArgv: [],
  });

  async run(points: ToBareLoop): Promise<FromBareLoop> {
    const failed = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`the bare loop ended (${code})`);
    });
    failed.catch(() => undefined);
    this.#child.send(points);
    const [message] = (await Promise.race([once(this.#child, 'message'), failed])) as [FromBareLoop];
    return message;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.disconnect();
    await once(this.#child, 'exit');
  }
}
