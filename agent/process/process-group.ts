/** Sends a signal to the group that `leaderPid` leads; false when nothing of it is left. */
export function signalGroup(leaderPid: number, signal: 'SIGTERM' | 'SIGKILL'): boolean {
  try {
    process.kill(-leaderPid, signal);
    return true;
  } catch {
    return false; // ESRCH: it is gone
  }
}
