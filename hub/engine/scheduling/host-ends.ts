/** Ends of hosts: a task is not dispatched to a host that has no time for it. */
import { TASK_TYPES } from '@workbench-hub/shared/domain/task';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { WaitingTask } from '../../core/match-tasks.js';
import { type RunTimeBook, runTimesKey } from '../../core/run-times.js';

export class HostEnds {
  readonly #clock: Clock;
  readonly #runTimes: RunTimeBook;
  readonly #endsMs = new Map<string, number>();

  constructor(clock: Clock, runTimes: RunTimeBook) {
    this.#clock = clock;
    this.#runTimes = runTimes;
  }

  /** Number of hosts with an end. */
  get count(): number {
    return this.#endsMs.size;
  }

  /** Sets the time at which what runs on the agent must have ended; null when it has none. */
  set(agentId: string, endMs: number | null): void {
    if (endMs === null) this.#endsMs.delete(agentId);
    else this.#endsMs.set(agentId, endMs);
  }

  clear(): void {
    this.#endsMs.clear();
  }

  /** Whether the task ends on this agent in time, as far as its time limit, or else similar tasks, tell. */
  readonly isAllowed = (
    task: Pick<WaitingTask, 'timeLimitS' | 'requirementKey'>,
    agentId: string,
  ): boolean => {
    const endMs = this.#endsMs.get(agentId);
    if (endMs === undefined) return true;
    return this.#clock.nowMs() + this.timeOf(task) <= endMs;
  };

  /** Time that a task is expected to need at most; 0 when nothing tells. */
  timeOf({ timeLimitS, requirementKey }: Pick<WaitingTask, 'timeLimitS' | 'requirementKey'>): number {
    return typeof timeLimitS === 'number' ? timeLimitS * 1000 : this.expectedMs(requirementKey);
  }

  /** Time within which nearly all tasks of a requirement end; 0 when it is not known. */
  expectedMs(requirementKey: string): number {
    const known = TASK_TYPES.map((type) => this.#runTimes.nearlyLongestMs(runTimesKey(type, requirementKey)));
    return Math.max(0, ...known.map((timeMs) => timeMs ?? 0));
  }

  /** Median run time of the tasks of a requirement; null when it is not known. */
  medianMs(requirementKey: string): number | null {
    const known = TASK_TYPES.flatMap(
      (type) => this.#runTimes.of(runTimesKey(type, requirementKey))?.medianMs ?? [],
    );
    return known.length === 0 ? null : Math.max(...known);
  }
}
