/**
 * A script with everything that it started, ended together. The one place of the runner that knows how that differs between
 * systems.
 *
 * On POSIX systems each script leads a session of its own (`detached`): its process group is signaled as one. Shells with job
 * control and MPI launchers put their children into other groups of the same session; on Linux these are found in /proc. On
 * Windows `taskkill /T` follows the tree of processes from a script that runs; what one leaves behind is found in the job object that
 * the agent keeps for each instance program. A process that begins a session of its own (a daemon) leaves its script on
 * purpose and is not followed.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import {
  allPids,
  newestPid,
  pidsBetween,
  pidsSince,
} from '@workbench-hub/shared/instance-protocol/process-ids';

/** Options of `spawn` for a child that leads its own group. */
export const GROUP_SPAWN_OPTIONS = { detached: process.platform !== 'win32', windowsHide: true } as const;

/** Sends SIGTERM to the group that `leaderPid` leads, which may be gone. */
export async function askGroupToEnd(leaderPid: number): Promise<void> {
  // Windows cannot ask a program without a window: it is ended at once.
  if (process.platform === 'win32') await killTreeOnWindows(leaderPid);
  else signal(-leaderPid, 'SIGTERM');
}

/** Pause between looks whether a group has ended; a long one where all processes of the machine are looked at. */
const LOOK_EVERY_MS = { young: 20, old: 200 } as const;

/** Resolves when no process is left of the group that `leaderPid` has led, after `withinMs` at the latest; at once on Windows. `isYoung`:
 *  whether all its members have later ids. */
export async function groupEnded(
  leaderPid: number,
  { withinMs, isYoung }: { readonly withinMs: number; readonly isYoung: () => boolean },
): Promise<void> {
  if (process.platform === 'win32') return;
  const endMs = performance.now() + withinMs;
  while (hasMembers(leaderPid, isYoung()) && performance.now() < endMs)
    await pause(isYoung() ? LOOK_EVERY_MS.young : LOOK_EVERY_MS.old);
}

/** Kills the group and, on Linux, the session that `leaderPid` leads. All members of a young one have later ids, so that no
 *  other process is examined. `hasEnded`: the leader itself is gone. */
export async function killGroup(
  leaderPid: number,
  { isYoung = false, hasEnded = false } = {},
): Promise<void> {
  if (process.platform === 'win32') {
    // Another process may have the id of one that has ended.
    if (!hasEnded) await killTreeOnWindows(leaderPid);
    return;
  }
  if (isYoung && process.platform === 'linux' && isOver(leaderPid)) return;
  signal(-leaderPid, 'SIGKILL');
  if (process.platform !== 'linux') return;
  // A process may start another while the list is read; killed ones start none, so the loop ends.
  for (let members = sessionMembers(leaderPid, isYoung); members.length > 0; ) {
    for (const pid of members) signal(pid, 'SIGKILL');
    members = sessionMembers(leaderPid, isYoung).filter((pid) => !members.includes(pid));
  }
}

/** Whether no process is left of a young session. A member that starts another and ends at this moment leads to that one, since
 *  ids are assigned in order. */
function isOver(sessionId: number): boolean {
  let after = sessionId;
  for (let newest = newestPid(); newest !== after; newest = newestPid()) {
    // Ids wrapped around: their order is unknown.
    if (newest < after) return false;
    for (const pid of pidsBetween(after, newest)) if (isMember(pid, sessionId)) return false;
    after = newest;
  }
  return true;
}

/** Whether there are processes of a group; zombies count on systems other than Linux. */
function hasMembers(groupId: number, isYoung: boolean): boolean {
  try {
    process.kill(-groupId, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  return processesAfter(groupId, isYoung).some((pid) => placeOf(pid)?.group === groupId);
}

/** Processes of a session without zombies. */
function sessionMembers(sessionId: number, isYoung: boolean): number[] {
  return processesAfter(sessionId, isYoung).filter((pid) => isMember(pid, sessionId));
}

/** Processes that may be of a group or session: those with later ids of a young one, all of the machine otherwise. */
function processesAfter(leaderPid: number, isYoung: boolean): number[] {
  return [...(isYoung ? pidsSince(leaderPid) : allPids())];
}

function isMember(pid: number, sessionId: number): boolean {
  return placeOf(pid)?.session === sessionId;
}

/** Group and session of a process by /proc/<pid>/stat (proc(5)); undefined for a zombie, and for one that has ended. */
function placeOf(pid: number): { readonly group: number; readonly session: number } | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The name, in brackets, may contain spaces and brackets.
  const [state, , group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' ? undefined : { group: Number(group), session: Number(session) };
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // ESRCH: none is left. EPERM (macOS): only zombies are left.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

function killTreeOnWindows(pid: number): Promise<void> {
  return new Promise((resolve) => {
    // It fails when the tree has already ended.
    execFile('taskkill', ['/PID', String(pid), '/T', '/F'], { windowsHide: true }, () => resolve());
  });
}
