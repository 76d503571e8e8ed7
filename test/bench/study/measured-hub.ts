/** A hub with agents that run the points of a study. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { treeUsesOf } from '../machine.js';
import { ROOT, startHub } from '../subjects/hub.js';
import type { ProcessUse, Sample, WorkloadOptions } from '../workload.js';
import { type Measured, WARM_POINTS } from './bare-loop.js';
import { runPoints } from './points.js';

export const INSTANCES = 2;

const MUJOCO = join(ROOT, 'packages/workbench-mujoco/bin/workbench-mujoco.js');

/** A hub with agents of these ids, whose instances have these arguments. */
export interface StudySubject {
  readonly name: string;
  readonly agents: readonly string[];
  readonly args: readonly string[];
  /** Main module of the instance program; MuJoCo by default. */
  readonly program?: string;
}

/** As the quickstart has it: one agent, whose instances share a process. */
export const QUICKSTART: StudySubject = {
  name: 'hub of the quickstart',
  agents: ['quickstart-host'],
  args: [],
};

/** Ways to run all points. */
export interface HandIn {
  readonly run: typeof runPoints;
  /** Simulations before the measured ones; the same by default. */
  readonly warm?: typeof runPoints;
  /** Runs them once more, after the measured time. */
  readonly runAgain?: typeof runPoints;
}

export async function measureHub(
  { folder: parent, profiles }: WorkloadOptions,
  count: number,
  { name, agents, args, program = MUJOCO }: StudySubject,
  { run, warm = runPoints, runAgain }: HandIn = { run: runPoints },
): Promise<Measured & { coldS: number; againS?: number; processes: readonly ProcessUse[] }> {
  const instance = { version: '1.0.0', labels: [], command: [process.execPath, program, ...args] };
  const folder = join(parent, name.replaceAll(/\W+/g, '-'));
  mkdirSync(folder);
  const running = await startHub(
    { folder, slots: INSTANCES, paused: false, ...(profiles === undefined ? {} : { profiles }) },
    { agents, instances: agents.map(() => instance) },
  );
  try {
    const coldFrom = performance.now();
    await warm(running.port, Math.min(count, WARM_POINTS));
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

export function ratesOf(name: string, count: number, seconds: number, cpuS: number): Sample[] {
  return [
    { name: `${name}: jobs`, value: count / seconds, unit: 'per s' },
    { name: `${name}: CPU for each job`, value: (cpuS * 1000) / count, unit: 'ms' },
  ];
}

/** Fails unless both have the same number for every point, bit for bit. */
export function expectSame(numbers: readonly string[], expected: readonly string[], name: string): void {
  const at = expected.findIndex((each, point) => each !== numbers[point]);
  if (at >= 0) throw new Error(`${name}: point ${at} is ${numbers[at]}, and not ${expected[at]}`);
}
