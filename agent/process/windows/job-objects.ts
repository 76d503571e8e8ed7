/**
 * Job objects of Windows as the groups of instance programs. The agent itself is in one, and so is everything that it starts; each program
 * is in another below it. The agent alone has their handles, so that the kernel ends all of their processes with it, however it ends
 * (Microsoft, "Job Objects", "Nested Jobs").
 */
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { ResourceLimits } from '../../core/resource-limits.js';
import type { FoundControlGroups, ProgramGroup } from '../control-groups.js';
import type { Handle } from './foreign-functions.js';
import type { SystemCalls } from './system-calls.js';

/** Maximum wait for the end of processes. Only one that the kernel cannot interrupt takes longer. */
const END_LIMIT_MS = 5000;
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

/** True when this process is in a job object, which it cannot leave. */
let isInside = false;

/** Puts this process into a job object. Never throws. */
export function openJobObjects(calls: SystemCalls, runtime: Runtime): FoundControlGroups {
  try {
    // Its handle is closed by the kernel, at the end of this process.
    if (!isInside) calls.assignSelf(calls.createJob(null));
    isInside = true;
    const groups = new Set<JobObject>();
    return {
      // The kernel has ended the processes of an earlier run.
      leftOver: 0,
      groups: {
        kind: 'job object',
        path: null,
        keepsLimits: true,
        create: (_, limits) => {
          const group = new JobObject(calls, runtime, limits, () => groups.delete(group));
          groups.add(group);
          return group;
        },
        killAll: () => {
          for (const group of groups) group.kill();
        },
        close: async () => {
          await Promise.allSettled([...groups].map((group) => group.end()));
        },
      },
    };
  } catch (error) {
    return { unavailable: `this process cannot be put into a job object (${messageOf(error)})` };
  }
}

class JobObject implements ProgramGroup {
  readonly #calls: SystemCalls;
  readonly #runtime: Runtime;
  readonly #onEnd: () => void;
  readonly #job: Handle;
  #isClosed = false;
  /** Processes from before the job, by id, with the time of their creation; null when they are not known. */
  #known: ReadonlyMap<number, bigint> | null = null;

  constructor(calls: SystemCalls, runtime: Runtime, limits: ResourceLimits | null, onEnd: () => void) {
    this.#calls = calls;
    this.#runtime = runtime;
    this.#onEnd = onEnd;
    this.#job = calls.createJob(limits);
  }

  addProcess(pid: number): void {
    const members = new Set(this.#calls.membersOf(this.#job));
    for (const each of [pid, ...this.#descendantsOf(pid)])
      if (!members.has(each)) this.#calls.assign(this.#job, each);
  }

  jobBegins(): void {
    // If the listing fails, no process may be taken for the job's.
    this.#known = null;
    this.#known = new Map(this.#members());
  }

  endJob(): Promise<number> {
    return this.endAllBut(() => Promise.resolve(false));
  }

  async endAllBut(isSpared: (pid: number) => Promise<boolean>): Promise<number> {
    const known = this.#known;
    if (known === null) return 0;
    const ended = new Set<string>();
    // A process may start another while it is ended.
    await this.#untilNone(async () => {
      let left = 0;
      for (const [pid, created] of this.#members()) {
        if (known.get(pid) === created || (await isSpared(pid))) continue;
        left++;
        if (this.#calls.terminate(pid, created)) ended.add(`${pid}@${created}`);
      }
      return left;
    });
    return ended.size;
  }

  async end(): Promise<void> {
    if (this.#isClosed) return;
    this.#calls.terminateJob(this.#job);
    await this.#untilNone(() =>
      Promise.resolve(this.#isClosed ? 0 : this.#calls.membersOf(this.#job).length),
    );
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#calls.close(this.#job);
    this.#onEnd();
  }

  /** Ends every process without waiting. */
  kill(): void {
    try {
      if (!this.#isClosed) this.#calls.terminateJob(this.#job);
    } catch {
      // The kernel ends them with this process.
    }
  }

  /** Running members, each with the time of its creation. */
  #members(): [number, bigint][] {
    if (this.#isClosed) return [];
    return this.#calls.membersOf(this.#job).flatMap((pid): [number, bigint][] => {
      const created = this.#calls.creationTimeOf(pid);
      return created === undefined ? [] : [[pid, created]];
    });
  }

  /** A process that is older than the one with the id of its parent was started by an earlier one. */
  #descendantsOf(root: number): number[] {
    const all = this.#calls.processes();
    const found: number[] = [];
    const queue = [root];
    for (let parent = queue.pop(); parent !== undefined; parent = queue.pop()) {
      const since = this.#calls.creationTimeOf(parent);
      if (since === undefined) continue;
      for (const { pid, parentPid } of all) {
        if (parentPid !== parent || pid === parent || found.includes(pid)) continue;
        const created = this.#calls.creationTimeOf(pid);
        if (created === undefined || created < since) continue;
        found.push(pid);
        queue.push(pid);
      }
    }
    return found;
  }

  /** Repeats a step until it counts none. Rejects when some remain after a while. */
  async #untilNone(step: () => Promise<number>): Promise<void> {
    const deadlineMs = this.#runtime.clock.monotonicMs() + END_LIMIT_MS;
    for (
      let pauseMs = FIRST_PAUSE_MS;
      (await step()) > 0;
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    ) {
      if (this.#runtime.clock.monotonicMs() > deadlineMs)
        throw new Error('processes in a job object did not end');
      await pause(this.#runtime.timers, pauseMs);
    }
  }
}
