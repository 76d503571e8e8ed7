/** Explanations of waiting tasks, and of tasks that might be created. */
import {
  type Classifier,
  classify,
  type Requirement,
  requirementKey,
  withModelType,
} from '@workbench-hub/shared/domain/classifier';
import { fits } from '@workbench-hub/shared/domain/matching';
import { type Priority, priorityRank } from '@workbench-hub/shared/domain/priority';
import type { TaskType } from '@workbench-hub/shared/domain/task';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { InstanceClass } from '../../core/idle-instances.js';
import type { InstanceView } from '../../core/ports/nodes.js';
import type { SignalListener } from '../../core/ports/signals.js';
import type { QueuePlace, RunningAttempt, TaskQueue } from '../../core/ports/task-queue.js';
import { type FinishedRun, type RunTimeBook, runTimesKey } from '../../core/run-times.js';
import type { Task } from '../../core/task.js';
import type { TaskEnded, TaskSubscriber } from '../../core/task-events.js';
import { type Explanation, explain, MAX_TASKS_AHEAD } from '../../core/wait-estimate.js';
import type { Exclusion, WaitReason } from '../../core/wait-reason.js';
import type { AgentExclusions } from '../agents/agent-exclusions.js';
import type { HostOutlook } from '../hosts/host-outlook.js';
import type { Instances } from '../instances/instances.js';
import type { ShutdownPreparation } from '../scheduling/shutdown-preparation.js';
import { RunningTasks, statisticsKey } from './running-tasks.js';
import { WaitReasons } from './wait-reasons.js';

export interface ExplanationsOptions {
  readonly queue: Pick<TaskQueue, 'countAhead' | 'runningOn'>;
  readonly instances: Instances;
  readonly shutdown: ShutdownPreparation;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly defaultVersion: string | null;
  readonly exclusions: AgentExclusions;
  /** Run times of finished tasks, which this part adds. */
  readonly runTimes: RunTimeBook;
  /** Resolves when the instances are those that other hubs have shown before. */
  readonly caughtUp: () => Promise<void>;
  /** Hosts that recipes bring. */
  readonly hostOutlook: HostOutlook;
  /** Ids of the queue groups in which tasks may wait that one of these classes fits. */
  readonly waitingGroupsFor: (classes: readonly InstanceClass[]) => Promise<number[]>;
}

/** Waiting time after which the log of a task explains why it waits. */
const LONG_WAIT_MS = 60_000;

/** Queue groups whose tasks are counted in one turn of the event loop. */
const GROUPS_PER_TURN = 500;

/** A task that waits, or one that might be created. */
interface Subject {
  readonly requirement: Requirement;
  readonly types: readonly TaskType[];
  /** In seconds; null without one. */
  readonly timeLimitS: number | null;
  /** Creator, empty without one; null when it is not known. */
  readonly user: string | null;
  readonly requestedAtMs: number;
  readonly place: QueuePlace;
}

export class Explanations {
  readonly #options: ExplanationsOptions;
  readonly #runTimes: RunTimeBook;
  readonly #running: RunningTasks;
  readonly #reasons: WaitReasons;

  constructor(options: ExplanationsOptions) {
    this.#options = options;
    this.#runTimes = options.runTimes;
    this.#running = new RunningTasks(options);
    this.#reasons = new WaitReasons(options.instances);
  }

  /** Reason why this task waits, from memory only: the beginning of its explanation. */
  reasonOf({ id, requirement, type, timeLimitS }: Task): WaitReason {
    const { shutdown, exclusions, hostOutlook, clock } = this.#options;
    const returns = exclusions.of(id);
    return this.#reasons.of(requirement, {
      type,
      dispatching: !shutdown.isPaused,
      returns,
      avoided: this.#avoided(id, returns),
      nowMs: clock.nowMs(),
      ...hostOutlook.known(requirement, timeLimitS),
    });
  }

  /** Run of a task that has finished; undefined for one that ended otherwise. To be called before {@link onRunningTask}. */
  readonly runOf = ({ ref, task, ending, endedAtMs }: TaskEnded): FinishedRun | undefined => {
    const { type, requirement, startedAtMs } = task;
    if (ending.status !== 'FINISHED' || startedAtMs === null) return undefined;
    const durationMs = this.#running.runTimeMs(ref) ?? endedAtMs - startedAtMs;
    return durationMs < 0 ? undefined : { type, requirementKey: requirementKey(requirement), durationMs };
  };

  /** Adds the run times of tasks that have finished at any hub to the statistics. */
  readonly onSignal: SignalListener = {
    ENDED: ({ run }) => {
      if (run) this.#runTimes.add(runTimesKey(run.type, run.requirementKey), run.durationMs);
    },
  };

  /** Follows the running tasks. */
  get onRunningTask(): TaskSubscriber {
    return this.#running.onTask;
  }

  /** Follows tasks that end or return at other hubs. */
  get onRunningSignal(): SignalListener {
    return this.#running.onSignal;
  }

  /** Compares the tasks that are known to run with those that do, after signals may have been lost. */
  compare(running: readonly RunningAttempt[]): void {
    this.#running.compare(running);
  }

  /** Explains why this task waits. */
  async ofTask(task: Task): Promise<Explanation> {
    const { requirement, type, timeLimitS, requestedAtMs, id, creator } = task;
    const user = creator ?? '';
    return this.#explain({
      ...{ requirement, types: [type], timeLimitS, user, requestedAtMs },
      place: { taskId: id },
    });
  }

  /** Explains how a task with these valid classifiers, and with a model of this type, would wait if it were created now. */
  async ofRequest(
    classifiers: readonly Classifier[],
    modelType: string | null,
  ): Promise<Explanation & { requirement: Requirement; priority: Priority }> {
    const { requirement: asked, priority } = classify(classifiers, this.#options.defaultVersion);
    const requirement = withModelType(asked, modelType);
    const explanation = await this.#explain({
      requirement,
      types: ['EXECUTE_BATCH_JOB', 'SIMULATE_WORK'],
      timeLimitS: null,
      user: null,
      requestedAtMs: 0,
      place: { newWithPriorityRank: priorityRank(priority) },
    });
    return { ...explanation, requirement, priority };
  }

  /** Explanation in one line, for the log of a task that has waited for a minute; undefined before. */
  async lineFor(task: Task): Promise<string | undefined> {
    const waitedMs = this.#options.clock.nowMs() - task.requestedAtMs;
    if (waitedMs < LONG_WAIT_MS) return undefined;
    const { message } = await this.ofTask(task);
    return `Waiting for ${Math.floor(waitedMs / 60_000)} min: ${message}\n`;
  }

  async #explain({
    requirement,
    types,
    timeLimitS,
    user,
    requestedAtMs,
    place,
  }: Subject): Promise<Explanation> {
    await this.#options.caughtUp();
    const { instances, shutdown, clock, exclusions, hostOutlook } = this.#options;
    const taskId = 'taskId' in place ? place.taskId : undefined;
    const returns = taskId === undefined ? [] : exclusions.of(taskId);
    const avoided = this.#avoided(taskId ?? '', returns);
    const competing = await this.#options.waitingGroupsFor(
      instances.classes.filter((instanceClass) => fits(requirement, instanceClass)),
    );
    const tasksAhead = await this.#countAhead(competing, place);
    const runTimes =
      types
        .map((type) => this.#runTimes.of(statisticsKey({ type, requirement })))
        .find((found) => found !== null) ?? null;
    const fitting = runTimes ? instances.list().filter(({ profile }) => fits(requirement, profile)) : [];
    const unforeseeable = runTimes
      ? await this.#running.unforeseeable(fitting, runTimes, clock.nowMs())
      : new Set<string>();
    const { outlooks, ending, timeMs } = await hostOutlook.of(requirement, { timeLimitS, user });
    const hasTooLittle = ({ agentId, lentHost }: InstanceView) =>
      ending.includes(agentId) || (lentHost !== undefined && lentHost.atMs - clock.nowMs() < timeMs);
    const candidates = instances.list().map((view) => ({
      ...view,
      isEnding: hasTooLittle(view),
      isExcluded: avoided.includes(view.agentId),
      isEndForeseeable: !unforeseeable.has(view.profile.id),
    }));
    return explain({
      requirement,
      // A request may become a batch job.
      type: types.includes('EXECUTE_BATCH_JOB') ? 'EXECUTE_BATCH_JOB' : 'SIMULATE_WORK',
      candidates,
      tasksAhead,
      runTimes,
      unfittingSinceMs: Math.max(requestedAtMs, instances.lastRemovalMs),
      nowMs: clock.nowMs(),
      dispatching: !shutdown.isPaused,
      exclusions: returns,
      outlooks,
    });
  }

  /** Agents that the task is not dispatched to for now. */
  #avoided(taskId: string, returns: readonly Exclusion[]): string[] {
    return returns
      .map(({ agentId }) => agentId)
      .filter((agentId) => !this.#options.exclusions.isAllowed(taskId, agentId));
  }

  /** Counts up to {@link MAX_TASKS_AHEAD}, and leaves the event loop to others in between. */
  async #countAhead(groupIds: readonly number[], place: QueuePlace): Promise<number> {
    const { queue, timers } = this.#options;
    let ahead = 0;
    for (let from = 0; from < groupIds.length && ahead < MAX_TASKS_AHEAD; from += GROUPS_PER_TURN) {
      if (from > 0) await new Promise<void>((resolve) => timers.soon(resolve));
      const groups = groupIds.slice(from, from + GROUPS_PER_TURN);
      ahead += await queue.countAhead(groups, place, MAX_TASKS_AHEAD - ahead);
    }
    return ahead;
  }
}
