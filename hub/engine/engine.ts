/** The engine: every moving part of the hub over the ports of core, wired together. The hub puts adapters around it,
 *  a simulation drives it by itself. */
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { RetryLimits } from '../core/claims.js';
import type { AgentStore } from '../core/ports/agent-store.js';
import type { FileStore } from '../core/ports/files.js';
import { NO_TASK_METRICS, type TaskMetrics } from '../core/ports/metrics.js';
import type { StoredNames } from '../core/ports/storage.js';
import type { TaskArchive, TaskQueue } from '../core/ports/task-store.js';
import { NO_TRACING, type TaskTracing } from '../core/ports/tracing.js';
import { Agents } from './agents.js';
import { Attempts } from './attempts.js';
import { Explanations } from './explanations.js';
import { GivenBack } from './given-back.js';
import { InstanceControl } from './instance-control.js';
import { Instances } from './instances.js';
import { Leases } from './leases.js';
import { Results } from './results.js';
import { Scheduler } from './scheduler.js';
import { ShutdownPreparation } from './shutdown-preparation.js';
import { Storage, type StorageSettings } from './storage.js';
import { Sweeper } from './sweeper.js';
import { TaskOutput } from './task-output.js';
import { TaskTraces } from './task-traces.js';
import { Tasks } from './tasks.js';

export interface EngineOptions {
  readonly queue: TaskQueue;
  readonly archive: TaskArchive;
  readonly agentStore: AgentStore;
  readonly files: FileStore;
  readonly names: StoredNames;
  readonly storage: StorageSettings;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly hubVersion: string;
  readonly heartbeatIntervalMs: number;
  /** A side of the agent link that has heard nothing for so long takes it for dead. */
  readonly silenceLimitMs: number;
  readonly leaseTimeoutMs: number;
  readonly forgetAgentsAfterMs: number;
  readonly limits: RetryLimits;
  readonly keepEndedForMs: number;
  readonly defaultVersion: string | null;
  /** How many first tasks of a group are read at a time. */
  readonly headsOfGroup?: number;
  /** Removes what has expired of sessions and the like. */
  readonly sweepAccounts?: () => Promise<void>;
  readonly metrics?: TaskMetrics;
  readonly tracing?: TaskTracing;
}

export interface Engine {
  readonly tasks: Tasks;
  readonly agents: Agents;
  readonly instances: Instances;
  readonly control: InstanceControl;
  readonly shutdown: ShutdownPreparation;
  readonly explanations: Explanations;
  readonly results: Results;
  readonly storage: Storage;
  /** Takes up what the store holds: the leases of running tasks, then the queue. */
  start(): Promise<void>;
  /** Removes now what is no longer kept; it happens by itself every minute. */
  sweep(): Promise<void>;
  /** Gives out nothing more and lets agents and waiting clients go. */
  quiesce(): Promise<void>;
  /** Ends everything that runs by itself; the store may be closed afterwards. */
  stop(): Promise<void>;
}

/** Builds the engine and remembers the agents that the store knows; nothing runs before its start. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const { queue, archive, agentStore, files, names, runtime, log, limits } = options;
  const { metrics = NO_TASK_METRICS, tracing = NO_TRACING } = options;
  const traces = new TaskTraces(tracing);
  const { clock, timers } = runtime;
  const instances = new Instances(clock, log);
  instances.remember(await agentStore.all());
  const results = new Results(timers);
  const storage = new Storage({ names, files, clock, settings: options.storage });
  const output = new TaskOutput();
  const onReturned = (requirementKey: string) => scheduler.returned(requirementKey);
  const shutdown = new ShutdownPreparation(clock, (initiated) =>
    initiated ? scheduler.pause() : scheduler.resume(),
  );
  const { defaultVersion } = options;
  const givenBack = new GivenBack({ instances, clock, timers, onExpired: () => scheduler.wake() });
  const explanations = new Explanations({
    queue,
    instances,
    shutdown,
    clock,
    defaultVersion,
    givenBack,
    waitingGroupsFor: (kinds) => scheduler.groupsFor(kinds),
  });
  const attempts = new Attempts({
    queue,
    archive,
    storage,
    results,
    output,
    limits,
    clock,
    log,
    metrics,
    traces,
    givenBack,
    onReturned,
    onFinished: (task, endedAtMs) => explanations.measured(task, endedAtMs),
  });
  const leases = new Leases({
    queue,
    attempts,
    instances,
    timers,
    log,
    leaseTimeoutMs: options.leaseTimeoutMs,
  });
  const agents = new Agents({
    queue,
    store: agentStore,
    files,
    storage,
    instances,
    attempts,
    leases,
    output,
    runtime,
    log,
    metrics,
    traces,
    hubVersion: options.hubVersion,
    heartbeatIntervalMs: options.heartbeatIntervalMs,
    silenceLimitMs: options.silenceLimitMs,
    onCapacity: () => scheduler.wake(),
  });
  const scheduler = new Scheduler({
    queue,
    instances,
    givenBack,
    runtime,
    log,
    headsOfGroup: options.headsOfGroup,
    assign: (task) => agents.assign(task),
    onBegun: (claimed, startedAtMs) => {
      const { ref, task } = claimed;
      traces.begun(claimed, startedAtMs);
      if (ref.attempt === 1) metrics.began(task.priority, startedAtMs - task.requestedAtMs);
    },
    putBack: (task) => {
      traces.putBack(task);
      queue
        .release([{ ref: task.ref, loss: 'RETURN' }])
        .then(() => onReturned(requirementKey(task.task.requirement)))
        .catch((error: unknown) => log.error({ err: error, ...task.ref }, 'a task could not be put back'));
    },
  });
  const tasks = new Tasks({
    queue,
    archive,
    files,
    results,
    output,
    agents,
    runtime,
    log,
    shutdown,
    explanations,
    metrics,
    traces,
    onWaiting: (task) => scheduler.announce(task),
    onWithdrawn: (requirementKey, taskId) => scheduler.withdrawn(requirementKey, taskId),
    defaultVersion,
  });
  const sweeper = new Sweeper({
    queue,
    archive,
    files,
    names,
    agentStore,
    instances,
    runtime,
    log,
    keepEndedForMs: options.keepEndedForMs,
    forgetAgentsAfterMs: options.forgetAgentsAfterMs,
    sweepAccounts: options.sweepAccounts ?? (async () => undefined),
  });

  return {
    tasks,
    agents,
    instances,
    control: new InstanceControl(instances, agents),
    shutdown,
    explanations,
    results,
    storage,
    start: async () => {
      await leases.start();
      await scheduler.start();
      sweeper.start();
    },
    sweep: () => sweeper.sweep(),
    quiesce: async () => {
      await scheduler.stop();
      agents.closeAll('the hub stops');
      results.releaseAll();
    },
    stop: async () => {
      leases.stop();
      givenBack.stop();
      await sweeper.stop();
    },
  };
}
