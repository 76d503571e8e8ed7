/** The measured software and machine. */
import { readdirSync, readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { ProcessUse } from './workload.js';

const MIB = 1024 * 1024;

/** Clock ticks a second in /proc: the same on every Linux that Node runs on. */
const TICKS_PER_S = 100;

export function machine() {
  const processors = cpus();
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cpus: processors.length,
    memoryMib: Math.round(totalmem() / MIB),
    system: `${type()} ${release()}`,
    loadAtStart: loadavg()[0] ?? 0,
  };
}

export function versions() {
  const { version, revision } = buildInfo;
  return { workbenchHub: version, revision, node: process.versions.node, v8: process.versions.v8 };
}

/** Memory that a process holds now. Throws elsewhere than on Linux. */
export function rssMib(pid: number): number {
  return statusKib(pid, 'VmRSS') / 1024;
}

/** The most memory that a process has held. */
export function peakRssMib(pid: number): number {
  return statusKib(pid, 'VmHWM') / 1024;
}

/** Time that a process has spent computing, in all its threads. */
export function cpuSeconds(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
}

/** Resource use of a process and its descendants, including ended ones. */
export interface TreeUse {
  readonly own: Use;
  /** Undefined when there are none. */
  readonly beneath?: Use & { readonly count: number };
}

interface Use {
  readonly cpuS: number;
  readonly peakRssMib: number;
}

export function treeUse(pid: number): TreeUse {
  const beneath = descendants(pid);
  const own = { cpuS: cpuSeconds(pid), peakRssMib: peakRssMib(pid) };
  if (beneath.length === 0) return { own };
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  return {
    own,
    beneath: {
      count: beneath.length,
      cpuS: sum(beneath.map(cpuSeconds)) + sum([pid, ...beneath].map(endedChildrenCpuSeconds)),
      // Shared memory counts once, at this time: no peak of a sum is recorded.
      peakRssMib: sum(beneath.map(shareKib)) / 1024,
    },
  };
}

/** Resource use of processes by name, without what is beneath them. */
export function usesOf(pids: Iterable<readonly [name: string, pid: number]>): ProcessUse[] {
  return [...pids].map(([name, pid]) => ({ name, ...treeUse(pid).own }));
}

/** Resource use of processes by name; that of all beneath one has a name of its own. */
export function treeUsesOf(pids: Iterable<readonly [name: string, pid: number]>): ProcessUse[] {
  return [...pids].flatMap(([name, pid]) => {
    const { own, beneath } = treeUse(pid);
    const use = { name, ...own };
    if (!beneath) return [use];
    const { cpuS, peakRssMib } = beneath;
    return [use, { name: `processes of ${name}`, cpuS, peakRssMib }];
  });
}

/** Memory of a process and its descendants now; what several of them share counts once. */
export function treeShareMib(pid: number): number {
  const all = [pid, ...descendants(pid)];
  return all.reduce((sum, each) => sum + (ifThere(() => [shareKib(each)])[0] ?? 0), 0) / 1024;
}

/** Number of processes beneath a process. */
export function countDescendants(pid: number): number {
  return descendants(pid).length;
}

/** Processor seconds of the whole machine: more than the measured processes have used is the neighbors' part. */
export function machineCpuSeconds(): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = (
    readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
  )
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softIrq) / TICKS_PER_S;
}

function descendants(pid: number): number[] {
  const parents = readdirSync('/proc')
    .map(Number)
    .filter((each) => each > 0)
    .flatMap((each) => ifThere(() => [[each, Number(statFields(each)[1])] as const]));
  const found: number[] = [];
  for (let next: readonly number[] = [pid]; next.length > 0; ) {
    next = parents.filter(([, parent]) => next.includes(parent)).map(([each]) => each);
    found.push(...next);
  }
  return found;
}

function endedChildrenCpuSeconds(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_S;
}

function shareKib(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]);
}

/** From the state on, which is the third field. */
function statFields(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program may hold anything; the fields behind its bracket do not.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Nothing when the process has ended meanwhile. */
function ifThere<T>(read: () => T[]): T[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function statusKib(pid: number, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(found?.[1]);
}
