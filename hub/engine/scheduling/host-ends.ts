/** Ends of hosts: a task is not dispatched to a host that has no time for it. */
import { isDeepStrictEqual } from 'node:util';
import { TASK_TYPES } from '@workbench-hub/shared/domain/task';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { type HostEnd, timeLeftMs } from '../../core/hosts/host-end.js';
import type { HostOfInstance } from '../../core/idle-instances.js';
import type { WaitingTask } from '../../core/match-tasks.js';
import { type RunTimeBook, runTimesKey } from '../../core/run-times.js';

/** Properties of a task that tell how long it may run. */
type TimedTask = Pick<WaitingTask, 'timeLimitS' | 'requirementKey'>;

export class HostEnds {
  readonly #clock: Clock;
  readonly #runTimes: RunTimeBook;
  readonly #ends = new Map<string, HostEnd>();
  readonly #changeSubscribers: ((agentId: string) => void)[] = [];

  /** Longest time that a fresh host of this hub's recipes has for tasks, and that one of any recipe has; 0 without such hosts. */
  readonly #ownMs: number;
  #longestMs: number;

  /** `longestMs`: the longest time that a fresh host of this hub's recipes has for tasks; 0 without such hosts. */
  constructor(clock: Clock, runTimes: RunTimeBook, longestMs = 0) {
    this.#clock = clock;
    this.#runTimes = runTimes;
    this.#ownMs = longestMs;
    this.#longestMs = longestMs;
  }

  /** Fresh hosts of joined hubs have this time for tasks, if it is longer. */
  alsoFor(timeMs: number): void {
    this.#longestMs = Math.max(this.#ownMs, timeMs);
  }

  /** Number of hosts with an end. */
  get count(): number {
    return this.#ends.size;
  }

  /** Sets the end of the host of an agent; null when it has none. */
  set(agentId: string, end: HostEnd | null): void {
    if (isDeepStrictEqual(this.#ends.get(agentId) ?? null, end)) return;
    if (end === null) this.#ends.delete(agentId);
    else this.#ends.set(agentId, end);
    for (const subscriber of this.#changeSubscribers) subscriber(agentId);
  }

  clear(): void {
    this.#ends.clear();
  }

  /** Adds a subscriber, which is called with the id of an agent when the end of its host changes. */
  onChange(subscriber: (agentId: string) => void): void {
    this.#changeSubscribers.push(subscriber);
  }

  /** Time that the host of an agent still has for tasks; null when it has no end. */
  leftMsOf(agentId: string): number | null {
    const end = this.#ends.get(agentId);
    return end === undefined ? null : Math.max(0, timeLeftMs(end, this.#clock.nowMs()));
  }

  /** Whether the task ends on this host in time, as far as its time limit, or else similar tasks, tell. */
  readonly isAllowed = (task: TimedTask, { agentId, lentHost }: HostOfInstance): boolean => {
    const end = lentHost ?? this.#ends.get(agentId);
    if (end === undefined) return true;
    return this.timeOf(task) <= timeLeftMs(end, this.#clock.nowMs());
  };

  /** Agents whose hosts have too little time for the task. */
  tooShortFor(task: TimedTask): string[] {
    return [...this.#ends.keys()].filter((agentId) => !this.isAllowed(task, { agentId }));
  }

  /** Time that a task is expected to need at most; 0 when nothing tells. */
  timeOf({ timeLimitS, requirementKey }: TimedTask): number {
    return typeof timeLimitS === 'number' ? timeLimitS * 1000 : this.expectedMs(requirementKey);
  }

  /** Time within which nearly all tasks of a requirement end; 0 when it is not known. When no host has so much, but half of the tasks need far less, all
   *  the time of a fresh host: a few that took long must not keep all others from running. */
  expectedMs(requirementKey: string): number {
    const known = TASK_TYPES.map((type) => this.#runTimes.nearlyLongestMs(runTimesKey(type, requirementKey)));
    const timeMs = Math.max(0, ...known.map((each) => each ?? 0));
    if (timeMs <= this.#longestMs) return timeMs;
    const medianMs = this.medianMs(requirementKey) ?? timeMs;
    return 2 * medianMs <= this.#longestMs ? this.#longestMs : timeMs;
  }

  /** Median run time of the tasks of a requirement; null when it is not known. */
  medianMs(requirementKey: string): number | null {
    const known = TASK_TYPES.flatMap(
      (type) => this.#runTimes.of(runTimesKey(type, requirementKey))?.medianMs ?? [],
    );
    return known.length === 0 ? null : Math.max(...known);
  }
}
