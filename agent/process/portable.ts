import type { Platform } from './platform.js';
import { signalGroup } from './process-group.js';

const hasGroups = process.platform !== 'win32';

/** Functions of any system. Orphans are not found: a program that ends with its standard input leaves none. */
export const portable: Platform = {
  hasGroups,

  signalGroup(leaderPid, signal) {
    if (hasGroups) return signalGroup(leaderPid, signal);
    try {
      return process.kill(leaderPid, signal);
    } catch {
      return false; // it has ended
    }
  },

  newestPid: () => undefined,

  findByCookie: () => Promise.resolve({ pids: [], mayBeMore: false }),

  ownerOf: () => Promise.resolve(undefined),

  identify: (pid) => (isAlive(pid) ? `${pid}` : undefined),
};

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // A process of another user may not be signaled.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
