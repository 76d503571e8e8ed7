/** What was measured, and on what. */
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';

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
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program may hold anything; behind its bracket, user and system time are the 12th and 13th field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
}

function statusKib(pid: number, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(found?.[1]);
}
