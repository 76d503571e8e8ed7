/** Gathers what is known about a waiting task, or one that might be handed in, and has it explained. */
import {
  type Classifier,
  classify,
  type Requirement,
  requirementKey,
} from '@workbench-hub/shared/domain/classifier';
import { fits } from '@workbench-hub/shared/domain/matching';
import { type Priority, priorityRank } from '@workbench-hub/shared/domain/priority';
import type { TaskType } from '@workbench-hub/shared/domain/task';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { type Explanation, explain } from '../core/explain.js';
import type { InstanceClass } from '../core/idle-instances.js';
import type { TaskQueue } from '../core/ports/task-store.js';
import { RunTimeBook } from '../core/run-times.js';
import type { Task } from '../core/task.js';
import type { TaskSubscriber } from '../core/task-events.js';
import type { AgentExclusions } from './agent-exclusions.js';
import type { Instances } from './instances.js';
import type { ShutdownPreparation } from './shutdown-preparation.js';

export interface ExplanationsOptions {
  readonly queue: TaskQueue;
  readonly instances: Instances;
  readonly shutdown: ShutdownPreparation;
  readonly clock: Clock;
  readonly defaultVersion: string | null;
  readonly exclusions: AgentExclusions;
  /** The groups in which tasks may wait that one of these kinds of instances fits. */
  readonly waitingGroupsFor: (kinds: readonly InstanceClass[]) => string[];
}

/** A task that has waited for so long says in its log why. */
const LONG_WAIT_MS = 60_000;

export class Explanations {
  readonly #options: ExplanationsOptions;
  readonly #runTimes = new RunTimeBook();

  constructor(options: ExplanationsOptions) {
    this.#options = options;
  }

  /** The run time of a task that has finished is a measure for the next of its kind. */
  readonly onTask: TaskSubscriber = {
    ENDED: ({ task: { type, requirement, startedAtMs }, ending, endedAtMs }) => {
      if (ending.status !== 'FINISHED' || startedAtMs === null) return;
      this.#runTimes.add(kindOf(type, requirement), endedAtMs - startedAtMs);
    },
  };

  /** Why this waiting task waits. */
  async ofTask(task: Task): Promise<Explanation> {
    const ahead = (groups: string[]) => this.#options.queue.countAhead(groups, { taskId: task.id });
    return this.#explain(task.requirement, [task.type], task.requestedAtMs, ahead, task.id);
  }

  /** How a task with these classifiers, which are valid, would fare if it were handed in now. */
  async ofClassifiers(
    classifiers: readonly Classifier[],
  ): Promise<Explanation & { requirement: Requirement; priority: Priority }> {
    const { requirement, priority } = classify(classifiers, this.#options.defaultVersion);
    const ahead = (groups: string[]) =>
      this.#options.queue.countAhead(groups, { newWithPriorityRank: priorityRank(priority) });
    const explanation = await this.#explain(requirement, ['EXECUTE_BATCH_JOB', 'SIMULATE_WORK'], 0, ahead);
    return { ...explanation, requirement, priority };
  }

  /** The same in one line, for the log of a task that has waited for a minute; undefined before. */
  async lineFor(task: Task): Promise<string | undefined> {
    const waitedMs = this.#options.clock.nowMs() - task.requestedAtMs;
    if (waitedMs < LONG_WAIT_MS) return undefined;
    const { message } = await this.ofTask(task);
    return `Waiting for ${Math.floor(waitedMs / 60_000)} min: ${message}\n`;
  }

  async #explain(
    requirement: Requirement,
    types: readonly TaskType[],
    requestedAtMs: number,
    countAhead: (groups: string[]) => Promise<number>,
    taskId?: string,
  ): Promise<Explanation> {
    const { instances, shutdown, clock, exclusions } = this.#options;
    const returns = taskId === undefined ? [] : exclusions.of(taskId);
    const isHeldBack = (agentId: string) =>
      returns.some((giveBack) => giveBack.agentId === agentId) && !exclusions.mayGet(taskId ?? '', agentId);
    const candidates = instances.list().map((view) => ({ ...view, heldBack: isHeldBack(view.agentId) }));
    const competing = this.#options.waitingGroupsFor(
      instances.classes.filter((kind) => fits(requirement, kind)),
    );
    return explain({
      requirement,
      candidates,
      tasksAhead: await countAhead(competing),
      runTimes:
        types.map((type) => this.#runTimes.of(kindOf(type, requirement))).find((found) => found !== null) ??
        null,
      unfittingSinceMs: Math.max(requestedAtMs, instances.lastRemovalMs),
      nowMs: clock.nowMs(),
      dispatching: !shutdown.status.initiated,
      exclusions: returns,
    });
  }
}

function kindOf(type: TaskType, requirement: Requirement): string {
  return `${type} ${requirementKey(requirement)}`;
}
