import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { COOKIE_VARIABLE, type Platform } from './platform.js';
import { signalGroup } from './process-group.js';

const COOKIE_PREFIX = Buffer.from(`${COOKIE_VARIABLE}=`);

/** Processes as /proc shows them. */
export const linux: Platform = {
  hasGroups: true,
  signalGroup,

  async findByCookie(cookie) {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
    const found: number[] = [];
    for (const pid of pids) {
      const carried = await cookieOf(pid);
      if (carried === cookie || (cookie.endsWith('/') && carried?.startsWith(cookie))) found.push(pid);
    }
    return found;
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

/** Undefined also for a process of another user, whose environment may not be read: it is none of ours. */
async function cookieOf(pid: number): Promise<string | undefined> {
  let environment: Buffer;
  try {
    environment = await readFile(`/proc/${pid}/environ`);
  } catch {
    return undefined;
  }
  for (
    let at = environment.indexOf(COOKIE_PREFIX);
    at >= 0;
    at = environment.indexOf(COOKIE_PREFIX, at + 1)
  ) {
    if (at > 0 && environment[at - 1] !== 0) continue;
    const end = environment.indexOf(0, at);
    return environment.toString('utf8', at + COOKIE_PREFIX.length, end < 0 ? environment.length : end);
  }
  return undefined;
}
