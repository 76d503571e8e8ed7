import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { allPids, newestPid, pidsSince } from '@workbench-hub/shared/instance-protocol/process-ids';
import { COOKIE_VARIABLE, type Platform, TASK_VARIABLE } from './platform.js';
import { signalGroup } from './process-group.js';

const COOKIE_PREFIX = Buffer.from(`${COOKIE_VARIABLE}=`);
const TASK_PREFIX = Buffer.from(`${TASK_VARIABLE}=`);

const NOTHING = Buffer.alloc(0);
/** Number of reads of an empty environment. */
const LOOKS_AT_NOTHING = 5;

/** Processes according to /proc. */
export const linux: Platform = {
  hasGroups: true,
  signalGroup,

  newestPid,

  async findByCookie(cookie, task) {
    const pids = task?.afterPid === undefined ? allPids() : pidsSince(task.afterPid);
    const found: number[] = [];
    let mayBeMore = false;
    for (const pid of pids) {
      const environment = await environmentOf(pid);
      if (environment === 'NOT_YET') {
        mayBeMore = true;
        continue;
      }
      const carried = valueIn(environment, COOKIE_PREFIX);
      const ours = carried === cookie || (cookie.endsWith('/') && carried?.startsWith(cookie) === true);
      if (ours && (!task || valueIn(environment, TASK_PREFIX) === task.taskId) && isProcess(pid))
        found.push(pid);
    }
    return { pids: found, mayBeMore };
  },

  async ownerOf(pid, cookie, programPid) {
    for (let current = pid; current !== programPid; ) {
      const environment = await environmentOf(current);
      // It is about to have one: the next call finds it.
      if (environment === 'NOT_YET') return 'PROGRAM';
      const carried = valueIn(environment, COOKIE_PREFIX);
      if (carried === cookie) return 'PROGRAM';
      if (carried?.startsWith(cookie)) return carried;
      const parent = parentOf(current);
      if (parent === programPid) return 'CHILD';
      if (parent === undefined || parent <= 1) return undefined;
      current = parent;
    }
    return 'PROGRAM';
  },

  identify(pid) {
    const startTime = startTimeOf(pid);
    if (startTime === undefined) return undefined;
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${pid}@${bootId}/${startTime}`;
  },
};

/** Start time of a process in ticks since boot, which distinguishes it from a later one with the same id. Undefined when it
 *  does not exist, or is a zombie. */
export function startTimeOf(pid: number): string | undefined {
  try {
    const fields = statOf(pid); // state is the first of them, the start time the 20th
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined; // it has ended
  }
}

/** Undefined when the process does not exist. */
function parentOf(pid: number): number | undefined {
  try {
    return Number(statOf(pid)[1]);
  } catch {
    return undefined;
  }
}

/** False for the id of a thread. */
function isProcess(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(/^Tgid:\s+(\d+)$/m.exec(status)?.[1]) === pid;
  } catch {
    return false; // it has ended
  }
}

/** Environment of a process; empty also for another user's, which is unreadable and not ours. During execve(2) a process has
 *  none yet. */
async function environmentOf(pid: number): Promise<Buffer | 'NOT_YET'> {
  for (let look = 1; ; look++) {
    const environment = await readFile(`/proc/${pid}/environ`).catch(() => undefined);
    if (environment === undefined || environment.length > 0) return environment ?? NOTHING;
    const place = placeOfEnvironment(pid);
    if (place === undefined) return NOTHING;
    if (place.end === '0') return 'NOT_YET';
    // It has one by now, or it is really empty: one that is being set up looks empty for less than a microsecond.
    if (place.start === place.end && look >= LOOKS_AT_NOTHING) return NOTHING;
  }
}

/** Address range of a process's environment, from fields 23, 50 and 51 of /proc/<pid>/stat (proc(5)); undefined for one without
 *  memory. */
function placeOfEnvironment(pid: number): { start: string; end: string } | undefined {
  try {
    const fields = statOf(pid);
    const [memoryBytes, start = '', end = ''] = [fields[20], fields[47], fields[48]];
    return memoryBytes === '0' ? undefined : { start, end };
  } catch {
    return undefined; // it has ended
  }
}

/** Fields of /proc/<pid>/stat after the name, which may contain anything; throws when the process does not exist. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function valueIn(environment: Buffer, prefix: Buffer): string | undefined {
  for (let at = environment.indexOf(prefix); at >= 0; at = environment.indexOf(prefix, at + 1)) {
    if (at > 0 && environment[at - 1] !== 0) continue;
    const end = environment.indexOf(0, at);
    return environment.toString('utf8', at + prefix.length, end < 0 ? environment.length : end);
  }
  return undefined;
}
