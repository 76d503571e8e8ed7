/** Workloads that put one load on several subjects, each from a fresh start, in turn in every run. */
import { join } from 'node:path';
import { inFolder } from '../in-folder.js';
import { runLoad } from '../load/load.js';
import type { LoadName } from '../load/loads.js';
import { cpuSeconds, machineCpuSeconds, type TreeUse, treeUse } from '../machine.js';
import { slotsAt } from '../subjects/slots.js';
import type { Subject } from '../subjects/subject.js';
import type {
  ProcessUse,
  ReadyWorkload,
  Run,
  Sample,
  Target,
  Workload,
  WorkloadOptions,
} from '../workload.js';

export interface ThroughputSetup {
  readonly name: string;
  readonly what: string;
  readonly load: LoadName;
  readonly count: number;
  readonly connections: number;
  readonly slots: number;
  /** No task is run. */
  readonly paused?: boolean;
  readonly subjects: readonly Subject[];
  readonly targets: readonly Target[];
}

const LIMIT_MS = 300_000;

export function throughputWorkload(setup: ThroughputSetup): Workload {
  const { name, what, targets } = setup;
  return { name, what, targets, prepare: async (options) => prepare(setup, options) };
}

function prepare(setup: ThroughputSetup, options: WorkloadOptions): ReadyWorkload {
  const { only } = options;
  const wanted = setup.subjects.filter(({ name }) => only === undefined || only.includes(name));
  const skipped: string[] = [];
  const skip = ({ name }: Subject, reason: string) => {
    skipped.push(`${name}: ${reason}`);
    options.say(`${setup.name}: NOT MEASURED: ${name}: ${reason}`);
  };
  for (const subject of wanted) {
    const missing = subject.missing();
    if (missing !== undefined) skip(subject, missing);
  }
  const subjects = new Set(wanted.filter((subject) => subject.missing() === undefined));
  const failed = new Set<Subject>();
  return {
    measure: async (run) => {
      const measured: Run[] = [];
      for (const subject of subjects) {
        options.say(`${setup.name}: measuring ${subject.name}`);
        const folder = join(run, subject.name.replaceAll(' ', '-'));
        try {
          measured.push(await inFolder(folder, () => measure(folder, subject, setup, options)));
        } catch (error) {
          if (subject.isCompared !== true) throw error;
          skip(subject, `a run failed: ${(error as Error).message}`);
          failed.add(subject);
          subjects.delete(subject);
        }
      }
      return {
        samples: measured.flatMap(({ samples }) => samples),
        processes: measured.flatMap(({ processes }) => processes),
      };
    },
    skipped: () => skipped,
    isLeftOut: (name) => [...failed].some((subject) => name.startsWith(`${subject.name}: `)),
  };
}

async function measure(
  folder: string,
  subject: Subject,
  { load, count, connections, slots, paused = false }: ThroughputSetup,
  { scale, seed, profiles }: WorkloadOptions,
): Promise<Run> {
  const running = await subject.start({
    folder,
    paused,
    slots: slotsAt(scale, slots),
    ...(profiles === undefined ? {} : { profiles }),
  });
  try {
    const look = (loadPid?: number): Look => ({
      machineCpuS: machineCpuSeconds(),
      loadCpuS: loadPid === undefined ? 0 : cpuSeconds(loadPid),
      processes: new Map([...running.pids].map(([name, pid]) => [name, treeUse(pid)])),
    });
    let before = look();
    let after = before;
    const { port, dialect } = running;
    const size = Math.max(1, Math.min(Math.ceil(count * scale), subject.mostTasks ?? count));
    const samples = await runLoad(
      { load, port, dialect, connections, seed, limitMs: LIMIT_MS, count: size },
      {
        begin: (loadPid) => {
          before = look(loadPid);
        },
        end: (loadPid) => {
          after = look(loadPid);
        },
      },
    );
    const processes = usedBetween(subject.name, before.processes, after.processes);
    const loadCpuS = after.loadCpuS - before.loadCpuS;
    const measuredCpuS = processes.reduce((sum, { cpuS }) => sum + cpuS, loadCpuS);
    const othersS = after.machineCpuS - before.machineCpuS - measuredCpuS;
    const more: Sample[] = [
      // More meaningful than the rates when the machine has other work.
      { name: 'CPU for each task', value: ((measuredCpuS - loadCpuS) * 1000) / size, unit: 'ms' },
      { name: 'neighbors meanwhile (CPU)', value: Math.max(0, othersS), unit: 's' },
      // Sum of the peaks, which need not have been at the same time.
      {
        name: 'peak memory of all processes',
        value: processes.reduce((sum, { peakRssMib }) => sum + peakRssMib, 0),
        unit: 'MiB',
      },
    ];
    const named = [...samples, ...more].map((sample) => ({
      ...sample,
      name: `${subject.name}: ${sample.name}`,
    }));
    return { samples: named, processes };
  } finally {
    await running.stop();
  }
}

/** A snapshot of the processes. */
interface Look {
  readonly machineCpuS: number;
  readonly loadCpuS: number;
  readonly processes: ReadonlyMap<string, TreeUse>;
}

/** Resource use of each process in the measured part, and its peak memory. */
function usedBetween(
  subject: string,
  before: ReadonlyMap<string, TreeUse>,
  after: ReadonlyMap<string, TreeUse>,
): ProcessUse[] {
  return [...after].flatMap(([name, { own, beneath }]) => {
    const earlier = before.get(name);
    const use = { ...own, name: `${subject}: ${name}`, cpuS: own.cpuS - (earlier?.own.cpuS ?? 0) };
    if (!beneath) return [use];
    const cpuS = beneath.cpuS - (earlier?.beneath?.cpuS ?? 0);
    const { peakRssMib } = beneath;
    return [use, { name: `${subject}: processes of ${name}`, cpuS, peakRssMib }];
  });
}
