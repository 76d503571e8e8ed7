/**
 * Control groups by the unified hierarchy of Linux (cgroups(7), version 2). Below the group of the agent itself:
 *
 *   workbench-agent-<nodeId>/
 *     instance-<instanceId>-<n>/    one program, with all that it starts
 *
 * A job needs no group of its own as long as it leaves nothing behind: the processes that were there before it are known,
 * and a look at the group's members shows whether there are others. Only then the known ones are moved to a fresh group,
 * and the kernel ends the old one as a whole (`cgroup.kill`, Linux 5.14), however fast its members fork.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { ControlGroups, FoundControlGroups, ProgramGroup } from './control-groups.js';
import { startTimeOf } from './linux.js';

/** Maximum wait for the end of a killed group. Only a process that the kernel cannot interrupt takes longer. */
const END_LIMIT_MS = 5000;
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

/** Number of passes in which members are moved: processes may fork meanwhile. */
const MOVE_ROUNDS = 20;

/** Tests whether this agent may create control groups, by creating one and ending a process in it. Ends groups of an earlier
 *  run of the agent first. Never rejects. */
export async function openControlGroups(nodeId: string, runtime: Runtime): Promise<FoundControlGroups> {
  try {
    const own = ownGroup(
      readFileSync('/proc/self/mountinfo', 'utf8'),
      readFileSync('/proc/self/cgroup', 'utf8'),
    );
    if (own === undefined) return { unavailable: 'this host has no control groups of version 2 mounted' };
    const root = join(own, `workbench-agent-${nodeId}`);
    const leftOver = existsSync(root) ? await endGroup(root, runtime) : 0;
    mkdirSync(root);
    try {
      if (!existsSync(join(root, 'cgroup.kill'))) {
        rmdirSync(root);
        return { unavailable: 'the kernel has no cgroup.kill, which came with Linux 5.14' };
      }
      accessSync(join(own, 'cgroup.procs'), constants.W_OK);
      await tryGroup(join(root, 'try'), runtime);
    } catch (error) {
      await endGroup(root, runtime).catch(() => undefined);
      throw error;
    }
    return { groups: controlGroups(root, runtime), leftOver };
  } catch (error) {
    const why = messageOf(error);
    return {
      unavailable: `this user may not make any here (${why}); under systemd, set Delegate=yes and ProtectControlGroups=no in the unit`,
    };
  }
}

/** Folder of this process's own group; undefined where there is none. Takes the contents of /proc/self/mountinfo and
 *  /proc/self/cgroup (proc(5), cgroups(7)). */
export function ownGroup(mountinfo: string, membership: string): string | undefined {
  const path = /^0::(\/.*)$/m.exec(membership)?.[1];
  // A path with `..` lies outside the cgroup namespace of this process.
  if (path === undefined || path.startsWith('/..')) return undefined;
  for (const line of mountinfo.split('\n')) {
    const [mount = '', type] = line.split(' - ');
    if (type?.startsWith('cgroup2 ') !== true) continue;
    const [, , , root = '/', point = ''] = mount.split(' ').map(unescaped);
    if (root === '/') return join(point, path);
    if (path === root || path.startsWith(`${root}/`)) return join(point, path.slice(root.length));
  }
  return undefined;
}

/** Decodes `\040` and the like in mountinfo. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

/** Ends a real process in a group; throws when that fails. */
async function tryGroup(folder: string, runtime: Runtime): Promise<void> {
  mkdirSync(folder);
  const child = spawn('/bin/sh', ['-c', 'read line'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const exited = once(child, 'exit');
  try {
    if (child.pid === undefined) await exited; // rejects with the reason
    move(child.pid as number, folder);
    await endGroup(folder, runtime);
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}

function controlGroups(root: string, runtime: Runtime): ControlGroups {
  let made = 0;
  return {
    kind: 'control group',
    keepsLimits: false,
    path: root,
    create: (instanceId) => new LinuxProgramGroup(() => makeGroup(root, instanceId, ++made), runtime),
    killAll: () => {
      try {
        kill(root);
      } catch {
        // It is gone, or the next start ends it.
      }
    },
    close: async () => {
      // The next start removes what remains.
      await endGroup(root, runtime).catch(() => undefined);
    },
  };
}

/** Creates a group. Its name has a prefix, since names that begin with `cgroup.` are reserved. */
function makeGroup(root: string, instanceId: string, number: number): string {
  const folder = join(root, `instance-${instanceId}-${number}`);
  mkdirSync(folder);
  return folder;
}

class LinuxProgramGroup implements ProgramGroup {
  readonly #makeFolder: () => string;
  readonly #runtime: Runtime;
  #folder: string;
  /** Processes from before the job, by id, with their start time; null when they are not known. */
  #known: ReadonlyMap<number, string> | null = null;

  constructor(makeFolder: () => string, runtime: Runtime) {
    this.#makeFolder = makeFolder;
    this.#runtime = runtime;
    this.#folder = makeFolder();
  }

  addProcess(pid: number): void {
    for (let round = 0; round < MOVE_ROUNDS; round++) {
      const members = new Set(membersOf(this.#folder));
      const missing = [pid, ...descendantsOf(pid)].filter((each) => !members.has(each));
      if (missing.length === 0) return;
      for (const each of missing) move(each, this.#folder);
    }
  }

  jobBegins(): void {
    // If the listing fails, no process may be taken for the job's.
    this.#known = null;
    const known = new Map<number, string>();
    for (const pid of membersOf(this.#folder)) {
      const startTime = startTimeOf(pid);
      if (startTime !== undefined) known.set(pid, startTime);
    }
    this.#known = known;
  }

  async endJob(): Promise<number> {
    const known = this.#known;
    if (known === null) return 0;
    const born = membersOf(this.#folder).filter((pid) => !isKnown(known, pid));
    if (born.length === 0 && !hasGroups(this.#folder)) return 0;
    const old = this.#folder;
    this.#folder = this.#makeFolder();
    for (const pid of known.keys()) if (isKnown(known, pid)) move(pid, this.#folder);
    return Math.max(born.length, await endGroup(old, this.#runtime));
  }

  async endAllBut(isSpared: (pid: number) => Promise<boolean>): Promise<number> {
    const known = this.#known;
    if (known === null) return 0;
    let doomed: string | undefined;
    let count = 0;
    for (let round = 0; round < MOVE_ROUNDS; round++) {
      const strays: number[] = [];
      for (const pid of allMembersOf(this.#folder))
        if (!isKnown(known, pid) && !(await isSpared(pid))) strays.push(pid);
      if (strays.length === 0) break;
      // Whatever they start from now on is in this group, too.
      doomed ??= this.#makeFolder();
      for (const pid of strays) move(pid, doomed);
      count += strays.length;
    }
    return doomed === undefined ? 0 : Math.max(count, await endGroup(doomed, this.#runtime));
  }

  async end(): Promise<void> {
    await endGroup(this.#folder, this.#runtime);
  }
}

/** False also for another process with the reused id of a known one. */
function isKnown(known: ReadonlyMap<number, string>, pid: number): boolean {
  const startTime = known.get(pid);
  return startTime !== undefined && startTimeOf(pid) === startTime;
}

/** Kills all processes in the group and in groups below it, waits for their end and removes it; returns their number. Rejects
 *  when some remain after a while. */
async function endGroup(folder: string, runtime: Runtime): Promise<number> {
  const count = countIn(folder);
  kill(folder);
  const deadlineMs = runtime.clock.monotonicMs() + END_LIMIT_MS;
  for (let pauseMs = FIRST_PAUSE_MS; isPopulated(folder); pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    if (runtime.clock.monotonicMs() > deadlineMs) {
      throw new Error(`processes in the control group ${folder} did not end`);
    }
    await pause(runtime.timers, pauseMs);
  }
  remove(folder);
  return count;
}

function countIn(folder: string): number {
  return groupsIn(folder).reduce((sum, name) => sum + countIn(join(folder, name)), membersOf(folder).length);
}

function kill(folder: string): void {
  writeFileSync(join(folder, 'cgroup.kill'), '1');
}

function isPopulated(folder: string): boolean {
  return /^populated 1$/m.test(readFileSync(join(folder, 'cgroup.events'), 'latin1'));
}

function remove(folder: string): void {
  for (const name of groupsIn(folder)) remove(join(folder, name));
  rmdirSync(folder);
}

function groupsIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

/** Whether it has subgroups, whose members are not listed among its own. */
function hasGroups(folder: string): boolean {
  return !/^nr_descendants 0$/m.test(readFileSync(join(folder, 'cgroup.stat'), 'latin1'));
}

function membersOf(folder: string): number[] {
  return readFileSync(join(folder, 'cgroup.procs'), 'latin1').split('\n').filter(Boolean).map(Number);
}

/** Members of the group and of groups below it. */
function allMembersOf(folder: string): number[] {
  if (!hasGroups(folder)) return membersOf(folder);
  return [...membersOf(folder), ...groupsIn(folder).flatMap((name) => allMembersOf(join(folder, name)))];
}

function move(pid: number, folder: string): void {
  try {
    writeFileSync(join(folder, 'cgroup.procs'), `${pid}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // ESRCH: it has ended
  }
}

/** Descendants of all threads of a process; empty where the kernel does not list them. */
function descendantsOf(pid: number): number[] {
  const found: number[] = [];
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const children = readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1');
      for (const child of children.split(' ').filter(Boolean).map(Number)) {
        found.push(child, ...descendantsOf(child));
      }
    }
  } catch {
    // It has ended meanwhile.
  }
  return found;
}
