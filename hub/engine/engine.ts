/**
 * The engine: every moving part of the hub over the ports of core, wired together. The hub puts adapters around it, a
 * simulation drives it by itself.
 *
 * Calls go one way only: each part is given those above it, and no part is named before it is built. Whatever has to reach
 * a part above travels as an event, to which that part is subscribed here.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AgentStore } from '../core/ports/agent-store.js';
import type { FileStore } from '../core/ports/files.js';
import { NO_TASK_METRICS, type TaskMetrics } from '../core/ports/metrics.js';
import type { NamedObjects } from '../core/ports/storage.js';
import type { TaskArchive, TaskQueue } from '../core/ports/task-store.js';
import { NO_TRACING, type TaskTracing } from '../core/ports/tracing.js';
import type { RetryLimits } from '../core/report-consequences.js';
import { AgentExclusions } from './agent-exclusions.js';
import { AgentSessions } from './agent-sessions.js';
import { Agents } from './agents.js';
import { Attempts } from './attempts.js';
import { ClockWatch } from './clock-watch.js';
import { Explanations } from './explanations.js';
import { InstanceControl } from './instance-control.js';
import { Instances } from './instances.js';
import { Leases } from './leases.js';
import { ResultWaiters } from './result-waiters.js';
import { Scheduler } from './scheduler.js';
import { SentBlobs } from './sent-blobs.js';
import { ShutdownPreparation } from './shutdown-preparation.js';
import { Storage } from './storage.js';
import type { StorageSettings } from './storage-settings.js';
import { Sweeper } from './sweeper.js';
import { metricsSubscriber } from './task-metrics.js';
import { TaskOutput } from './task-output.js';
import { TaskTraces } from './task-traces.js';
import { TaskTransitions } from './task-transitions.js';
import { Tasks } from './tasks.js';

export interface EngineOptions {
  readonly queue: TaskQueue;
  readonly archive: TaskArchive;
  readonly agentStore: AgentStore;
  readonly files: FileStore;
  readonly names: NamedObjects;
  readonly storage: StorageSettings;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly leaseTimeoutMs: number;
  readonly forgetAgentsAfterMs: number;
  readonly limits: RetryLimits;
  readonly keepEndedForMs: number;
  readonly defaultVersion: string | null;
  /** Number of first tasks of a queue pool that are read at a time. */
  readonly headsOfPool?: number;
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
  readonly resultWaiters: ResultWaiters;
  readonly storage: Storage;
  readonly sentBlobs: SentBlobs;
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
  const { queue, archive, agentStore, files, names, runtime, log, limits, defaultVersion } = options;
  const { metrics = NO_TASK_METRICS, tracing = NO_TRACING } = options;
  const { clock, timers } = runtime;
  const transitions = new TaskTransitions({ queue, archive, clock, log });
  const traces = new TaskTraces(tracing);
  const output = new TaskOutput();
  const resultWaiters = new ResultWaiters(timers);
  const clockWatch = new ClockWatch(clock);
  const mayExpire = () => {
    clockWatch.look();
    return clockWatch.isTrusted;
  };
  const storage = new Storage({ names, files, clock, settings: options.storage, mayExpire });
  const sentBlobs = new SentBlobs(files, timers);
  const shutdown = new ShutdownPreparation(clock);
  const instances = new Instances({ clock, timers, log });
  instances.remember(await agentStore.all());
  const exclusions = new AgentExclusions({ instances, clock, timers });
  const attempts = new Attempts({ transitions, archive, storage, limits, clock, log, exclusions });
  const { leaseTimeoutMs } = options;
  const leases = new Leases({ queue, attempts, instances, timers, log, leaseTimeoutMs });
  const sessions = new AgentSessions({ runtime, log, traces });
  const agents = new Agents({
    queue,
    transitions,
    store: agentStore,
    files,
    sessions,
    sentBlobs,
    instances,
    attempts,
    leases,
    output,
    clock,
    log,
    metrics,
    isOutputStored: storage.isOutputOn,
  });
  const { headsOfPool } = options;
  const scheduler = new Scheduler({
    queue,
    transitions,
    sessions,
    instances,
    exclusions,
    runtime,
    log,
    headsOfPool,
  });
  const explanations = new Explanations({
    queue,
    instances,
    shutdown,
    clock,
    timers,
    defaultVersion,
    exclusions,
    waitingGroupsFor: (classes) => scheduler.groupsFor(classes),
  });
  const tasks = new Tasks({
    transitions,
    archive,
    files,
    resultWaiters,
    output,
    runtime,
    log,
    shutdown,
    explanations,
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
    clockWatch,
  });

  // Waiting clients come last: whoever is woken finds everything else up to date.
  const subscribers = [scheduler, attempts, sessions, output, traces, exclusions, explanations];
  transitions.subscribe(metricsSubscriber(metrics));
  for (const { onTask } of [...subscribers, resultWaiters]) transitions.subscribe(onTask);
  instances.onCapacity(() => scheduler.wake());
  exclusions.onExpired(() => scheduler.wake());
  shutdown.subscribe((initiated) => (initiated ? scheduler.pause() : scheduler.resume()));

  return {
    tasks,
    agents,
    instances,
    control: new InstanceControl(instances, sessions),
    shutdown,
    explanations,
    resultWaiters,
    storage,
    sentBlobs,
    start: async () => {
      await leases.start();
      await scheduler.start();
      sweeper.start();
    },
    sweep: () => sweeper.sweep(),
    quiesce: async () => {
      await scheduler.stop();
      sessions.closeAll('the hub stops');
      resultWaiters.releaseAll();
    },
    stop: async () => {
      leases.stop();
      exclusions.stop();
      sentBlobs.stop();
      await sweeper.stop();
    },
  };
}
