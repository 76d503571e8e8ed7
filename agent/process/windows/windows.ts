/** Processes of Windows. */
import { COOKIE_VARIABLE, type Platform, TASK_VARIABLE } from '../platform.js';
import type { SystemCalls } from './system-calls.js';

export function windows(calls: SystemCalls): Platform {
  const valueIn = (pid: number, name: string): string | undefined =>
    calls
      .environmentOf(pid)
      ?.find((each) => each.startsWith(`${name}=`))
      ?.slice(name.length + 1);

  return {
    hasGroups: false,

    // Node.js has a handle of the program until its end was reported, so that no other gets its id. SIGTERM is the same there: the
    // request to end came by its standard input.
    signalGroup: (leaderPid, signal) => {
      try {
        return process.kill(leaderPid, signal);
      } catch {
        return false; // it has ended
      }
    },

    newestPid: () => undefined,

    findByCookie(cookie, task) {
      const pids = calls.processes().flatMap(({ pid }) => {
        if (pid === process.pid) return [];
        const carried = valueIn(pid, COOKIE_VARIABLE);
        const isOurs = carried === cookie || (cookie.endsWith('/') && carried?.startsWith(cookie) === true);
        return isOurs && (!task || valueIn(pid, TASK_VARIABLE) === task.taskId) ? [pid] : [];
      });
      return Promise.resolve({ pids, mayBeMore: false });
    },

    ownerOf(pid, cookie, programPid) {
      const parents = new Map(calls.processes().map((each) => [each.pid, each.parentPid]));
      const seen = new Set<number>();
      for (let current = pid; current !== programPid; ) {
        const carried = valueIn(current, COOKIE_VARIABLE);
        if (carried === cookie) return Promise.resolve('PROGRAM');
        if (carried?.startsWith(cookie)) return Promise.resolve(carried);
        seen.add(current);
        const parent = parents.get(current);
        if (parent === programPid) return Promise.resolve('CHILD');
        if (parent === undefined || seen.has(parent)) return Promise.resolve(undefined);
        current = parent;
      }
      return Promise.resolve('PROGRAM');
    },

    identify: (pid) => {
      const created = calls.creationTimeOf(pid);
      return created === undefined ? undefined : `${pid}@${created}`;
    },
  };
}
