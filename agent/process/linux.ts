import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { allPids, newestPid, pidsSince } from '@workbench-hub/shared/instance-protocol/process-ids';
import { COOKIE_VARIABLE, type Platform, TASK_VARIABLE } from './platform.js';
import { signalGroup } from './process-group.js';

const COOKIE_PREFIX = Buffer.from(`${COOKIE_VARIABLE}=`);
const TASK_PREFIX = Buffer.from(`${TASK_VARIABLE}=`);

/** Processes as /proc shows them. */
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
      if (environment?.length === 0 && becomesAnotherProgram(pid)) mayBeMore = true;
      if (!environment) continue;
      const carried = valueIn(environment, COOKIE_PREFIX);
      const ours = carried === cookie || (cookie.endsWith('/') && carried?.startsWith(cookie) === true);
      if (ours && (!task || valueIn(environment, TASK_PREFIX) === task.taskId) && isProcess(pid))
        found.push(pid);
    }
    return { pids: found, mayBeMore };
  },

  identify(pid) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // After the name, which may hold anything: state is the first, the start time the 20th field.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (fields[0] === 'Z') return undefined;
      const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
      return `${pid}@${bootId}/${fields[19]}`;
    } catch {
      return undefined; // it ended meanwhile, or never was
    }
  },
};

/** False for the id of a thread. */
function isProcess(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(/^Tgid:\s+(\d+)$/m.exec(status)?.[1]) === pid;
  } catch {
    return false; // it ended meanwhile
  }
}

/** Undefined for a process of another user, whose environment may not be read: it is none of ours. */
async function environmentOf(pid: number): Promise<Buffer | undefined> {
  try {
    return await readFile(`/proc/${pid}/environ`);
  } catch {
    return undefined;
  }
}

/** In the midst of execve(2) a process has memory of its own and no place for an environment yet: fields 23 and 51 of
 *  /proc/<pid>/stat. */
function becomesAnotherProgram(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[20] !== '0' && fields[48] === '0';
  } catch {
    return false; // it ended meanwhile
  }
}

function valueIn(environment: Buffer, prefix: Buffer): string | undefined {
  for (let at = environment.indexOf(prefix); at >= 0; at = environment.indexOf(prefix, at + 1)) {
    if (at > 0 && environment[at - 1] !== 0) continue;
    const end = environment.indexOf(0, at);
    return environment.toString('utf8', at + prefix.length, end < 0 ? environment.length : end);
  }
  return undefined;
}
