/** Signals the group that `leaderPid` leads; false when none of it is left. */
export function signalGroup(leaderPid: number, signal: 'SIGTERM' | 'SIGKILL'): boolean {
  try {
    process.kill(-leaderPid, signal);
    return true;
  } catch {
    return false; // ESRCH: it is gone
  }
}
