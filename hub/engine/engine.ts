/**
 * The engine: every moving part of the hub over the ports of core, wired together. The hub puts adapters around it, a
 * simulation drives it alone.
 *
 * Calls go one way only: each part receives only parts built before it; calls to earlier parts are events, to which these are
 * subscribed here.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AgentDrainStore } from '../core/ports/agent-drains.js';
import type { AttemptProofs } from '../core/ports/attempt-proofs.js';
import type { BlobStore } from '../core/ports/blobs.js';
import { NO_TASK_METRICS, type TaskMetrics } from '../core/ports/metrics.js';
import type { NamedObjects } from '../core/ports/named-objects.js';
import type { Nodes } from '../core/ports/nodes.js';
import type { ResumableUploads } from '../core/ports/resumable-uploads.js';
import type { RoleHolder } from '../core/ports/roles.js';
import type { Cluster } from '../core/ports/store.js';
import type { TaskArchive } from '../core/ports/task-archive.js';
import type { TaskChanges } from '../core/ports/task-changes.js';
import type { TaskExclusions } from '../core/ports/task-exclusions.js';
import type { TaskQueue } from '../core/ports/task-queue.js';
import { NO_STATISTICS, type TaskStatistics } from '../core/ports/task-statistics.js';
import { NO_TRACING, type TaskTracing } from '../core/ports/tracing.js';
import type { RetryLimits } from '../core/report-consequences.js';
import { AgentDrains } from './agents/agent-drains.js';
import { AgentExclusions } from './agents/agent-exclusions.js';
import { AgentSessions } from './agents/agent-sessions.js';
import { AgentSpread } from './agents/agent-spread.js';
import { Agents } from './agents/agents.js';
import { Attempts } from './agents/attempts.js';
import { Dispatcher } from './agents/dispatcher.js';
import { DoubtedAttempts } from './agents/doubted-attempts.js';
import { HeldAttempts } from './agents/held-attempts.js';
import { Leases } from './agents/leases.js';
import { mailReceiver } from './agents/mail-receiver.js';
import { SentBlobs } from './agents/sent-blobs.js';
import { ChangeFeed } from './following/change-feed.js';
import { LogFollower } from './following/log-follower.js';
import { ResultWaiters, wakeForEnded } from './following/result-waiters.js';
import { RunningOutput } from './following/running-output.js';
import { TaskOutput } from './following/task-output.js';
import { InstanceControl } from './instances/instance-control.js';
import { Instances } from './instances/instances.js';
import { liveNodes } from './instances/live-nodes.js';
import { ViewRefresh } from './instances/view-refresh.js';
import { Scheduler } from './scheduling/scheduler.js';
import { ShutdownPreparation } from './scheduling/shutdown-preparation.js';
import { ResumableUploadService } from './storage/resumable-upload-service.js';
import { Storage } from './storage/storage.js';
import type { StorageSettings } from './storage/storage-settings.js';
import { BulkChanges } from './tasks/bulk-changes.js';
import { TaskDetailsReader } from './tasks/task-details.js';
import { Tasks } from './tasks/tasks.js';
import { metricsSubscriber } from './transitions/task-metrics.js';
import { endSignals, queueSignals } from './transitions/task-signals.js';
import { TaskTraces } from './transitions/task-traces.js';
import { TaskTransitions } from './transitions/task-transitions.js';
import { ClockWatch } from './upkeep/clock-watch.js';
import { LocalSweeper } from './upkeep/local-sweeper.js';
import { Resynchronization } from './upkeep/resynchronization.js';
import { Statistics } from './upkeep/statistics.js';
import { Sweeper } from './upkeep/sweeper.js';
import { Explanations } from './waiting/explanations.js';
import type { WebhookPorts } from './webhooks/webhook-tries.js';
import { Webhooks } from './webhooks/webhooks.js';

export interface EngineOptions {
  readonly queue: TaskQueue;
  readonly archive: TaskArchive;
  readonly changes: TaskChanges;
  readonly exclusions: TaskExclusions;
  readonly cluster: Cluster;
  /** The live views of this hub when left out. */
  readonly nodes?: Nodes;
  readonly agentDrains: AgentDrainStore;
  readonly proofs: AttemptProofs;
  readonly files: BlobStore;
  readonly names: NamedObjects;
  readonly uploads: ResumableUploads;
  readonly storage: StorageSettings;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly leaseTimeoutMs: number;
  readonly forgetAgentsAfterMs: number;
  readonly limits: RetryLimits;
  readonly keepEndedForMs: number;
  readonly defaultVersion: string | null;
  /** Number of first tasks of a queue pool that are read at a time. */
  readonly headsPerPool?: number;
  /** Removes expired sessions and tokens. */
  readonly sweepAccounts?: () => Promise<void>;
  readonly metrics?: TaskMetrics;
  readonly tracing?: TaskTracing;
  /** None are kept when left out. */
  readonly statistics?: TaskStatistics;
  /** None are sent when left out. */
  readonly webhooks?: WebhookPorts;
}

export interface Engine {
  readonly tasks: Tasks;
  readonly details: TaskDetailsReader;
  readonly changeFeed: ChangeFeed;
  readonly logFollower: LogFollower;
  readonly bulkChanges: BulkChanges;
  readonly statistics: Statistics;
  readonly agents: Agents;
  readonly instances: Instances;
  readonly nodes: Nodes;
  readonly drains: AgentDrains;
  readonly control: InstanceControl;
  readonly shutdown: ShutdownPreparation;
  readonly explanations: Explanations;
  readonly resultWaiters: ResultWaiters;
  readonly storage: Storage;
  /** Null for a hub that sends none. */
  readonly webhooks: Webhooks | null;
  readonly uploads: ResumableUploadService;
  readonly sentBlobs: SentBlobs;
  /** Continues what the store holds: the leases of running tasks, then the queue. Rejects after a stop. */
  start(): Promise<void>;
  /** Sweeps now, instead of within a minute. */
  sweep(): Promise<void>;
  /** Gives the role of the scheduler up for good, so that another hub gains it at once. */
  resign(): Promise<void>;
  /** Ends dispatching, and releases agents and waiting clients. */
  quiesce(): Promise<void>;
  /** Ends everything that runs, also when it was not started; the store may be closed afterwards. */
  stop(): Promise<void>;
}

/** Builds the engine and remembers the agents that the store knows; nothing runs before its start. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const base = baseParts(options);
  base.instances.remember(await options.cluster.presence.all());
  await base.drains.refresh();
  await base.shutdown.refresh();
  const agentSide = agentParts(options, base);
  const queueSide = queueParts(options, base, agentSide);
  const resync = resyncOf(options, { ...base, ...agentSide });
  const parts = { ...base, ...agentSide, ...queueSide, resync };
  subscribe(options, parts);

  const { mail } = options.cluster;
  mail.serve(mailReceiver(parts.sessions, parts.output));
  const nodes = options.nodes ?? liveNodes(parts.instances, parts.caughtUp);
  const control = new InstanceControl(nodes, mail);
  return {
    ...parts,
    nodes,
    control,
    sweep: async () => {
      await parts.sweeper.sweep();
      await parts.localSweeper.sweep();
    },
    ...runningOf(options.cluster, parts),
  };
}

type BaseParts = ReturnType<typeof baseParts>;
type AgentParts = ReturnType<typeof agentParts>;
type QueueParts = ReturnType<typeof queueParts>;
type Parts = BaseParts & AgentParts & QueueParts & { readonly resync: Resynchronization };

/** The parts that need no other part, or only those before them. */
function baseParts(options: EngineOptions) {
  const { queue, archive, files, names, runtime, log, cluster } = options;
  const { preparations, signals, hubs } = cluster;
  const { clock, timers } = runtime;
  const clockWatch = new ClockWatch(clock);
  const mayExpire = () => {
    clockWatch.measureJump();
    return clockWatch.isTrusted;
  };
  const instances = new Instances({ clock, timers, log });
  const storage = new Storage({ names, files, clock, settings: options.storage, mayExpire });
  const drains = new AgentDrains({
    store: options.agentDrains,
    ...{ signals, queue, instances, clock, timers, log },
  });
  const shutdown = new ShutdownPreparation({ preparations, hubs, signals, clock, log });
  const caughtUp = async () => {
    await signals.caughtUp();
    await Promise.all([drains.settled(), shutdown.settled()]);
  };
  return {
    transitions: new TaskTransitions({ queue, archive, clock, log }),
    traces: new TaskTraces(options.tracing ?? NO_TRACING),
    output: new TaskOutput(),
    resultWaiters: new ResultWaiters(timers),
    clockWatch,
    storage,
    uploads: new ResumableUploadService({
      uploads: options.uploads,
      files,
      runtime,
      settings: options.storage.input,
      hubs,
      refuseWhileOff: () => storage.refuseWhileInputIsOff(),
      reclaim: () => storage.reclaim(),
    }),
    sentBlobs: new SentBlobs(files, timers),
    webhooks: options.webhooks ? new Webhooks({ ...options.webhooks, runtime, log, mayExpire }) : null,
    statistics: new Statistics({ store: options.statistics ?? NO_STATISTICS, clock, timers, log }),
    changeFeed: new ChangeFeed({ changes: options.changes, timers, clock, log }),
    shutdown,
    instances,
    drains,
    caughtUp,
    exclusions: new AgentExclusions({ store: options.exclusions, signals, instances, clock, timers, log }),
  };
}

/** The parts that deal with agents and the attempts that they hold. */
function agentParts(options: EngineOptions, base: BaseParts) {
  const { queue, archive, cluster, files, proofs, runtime, log, limits, leaseTimeoutMs } = options;
  const { presence, signals } = cluster;
  const { clock, timers } = runtime;
  const { transitions, storage, exclusions, instances, traces, output, sentBlobs } = base;
  const attempts = new Attempts({ transitions, archive, storage, limits, clock, log, exclusions });
  const leases = new Leases({ queue, attempts, instances, timers, log, leaseTimeoutMs });
  const sessions = new AgentSessions({ runtime, log, traces, proofs });
  const dispatcher = new Dispatcher({ sessions, transitions, signals, log });
  const agents = new Agents({
    queue,
    transitions,
    presence,
    signals,
    files,
    sessions,
    instances,
    sentBlobs,
    attempts,
    proofs,
    output,
    clock,
    log,
    metrics: options.metrics ?? NO_TASK_METRICS,
    isOutputStorageOn: storage.isOutputStorageOn,
  });
  const views = new ViewRefresh({ presence, queue, instances, clock });
  const doubted = new DoubtedAttempts({ archive, instances, signals, log });
  return { attempts, leases, sessions, dispatcher, agents, views, doubted };
}

/** The parts that deal with tasks: those that wait, those that are asked for, and those that are no longer kept. */
function queueParts(options: EngineOptions, base: BaseParts, { sessions }: AgentParts) {
  const { queue, archive, cluster, files, names, runtime, log, defaultVersion, headsPerPool } = options;
  const { clock, timers } = runtime;
  const { transitions, resultWaiters, output, clockWatch, shutdown, instances, exclusions, webhooks } = base;
  const scheduler = new Scheduler({
    queue,
    transitions,
    signals: cluster.signals,
    instances,
    exclusions,
    runtime,
    log,
    headsPerPool,
  });
  const explanations = new Explanations({
    queue,
    instances,
    shutdown,
    clock,
    timers,
    defaultVersion,
    exclusions,
    caughtUp: base.caughtUp,
    waitingGroupsFor: (classes) => scheduler.groupsFor(classes),
  });
  const runningOutput = new RunningOutput(cluster.mail);
  const tasks = new Tasks({
    transitions,
    archive,
    files,
    resultWaiters,
    output: runningOutput,
    runtime,
    log,
    shutdown,
    explanations,
    webhooks,
    defaultVersion,
  });
  const details = new TaskDetailsReader({ tasks, archive, files, webhooks });
  const sweeper = new Sweeper({
    queue,
    archive,
    transitions,
    files,
    names,
    presence: cluster.presence,
    instances,
    runtime,
    log,
    keepEndedForMs: options.keepEndedForMs,
    forgetAgentsAfterMs: options.forgetAgentsAfterMs,
    sweepAccounts: options.sweepAccounts ?? (async () => undefined),
    clockWatch,
    webhooks,
  });
  const localSweeper = new LocalSweeper({ uploads: base.uploads, files, clockWatch, timers, log });
  const bulkChanges = new BulkChanges({ archive, transitions, files });
  const logFollower = new LogFollower({ tasks, archive, files, output, runningOutput, sessions, timers });
  return { scheduler, explanations, tasks, details, bulkChanges, logFollower, sweeper, localSweeper };
}

/** Everything that is known from signals is read again, in the order in which it is needed. */
function resyncOf(
  { archive, cluster, log }: EngineOptions,
  parts: BaseParts & AgentParts,
): Resynchronization {
  const { views, leases, sessions, transitions, resultWaiters, webhooks } = parts;
  const held = new HeldAttempts({ sessions, archive, transitions, log });
  const spread = new AgentSpread({ hubs: cluster.hubs, sessions, log });
  return new Resynchronization({
    refresh: () => views.refresh(),
    steps: [
      (running) => leases.follow(running),
      (running) => held.compare(running),
      () => wakeForEnded(resultWaiters, archive),
      () => webhooks?.refresh(),
      () => spread.level(),
    ],
    log,
  });
}

function subscribe({ metrics = NO_TASK_METRICS, statistics, cluster }: EngineOptions, parts: Parts): void {
  const { transitions, scheduler, attempts, output, traces, exclusions, explanations } = parts;
  const { signals } = cluster;
  transitions.subscribe(metricsSubscriber(metrics));
  if (statistics) transitions.subscribe(parts.statistics.onTask);
  transitions.subscribe(explanations.onRunningTask);
  transitions.subscribe(queueSignals(signals));
  for (const { onTask } of [attempts, output, traces, explanations]) transitions.subscribe(onTask);
  // Waiting clients come last: when they are woken, everything else is up to date.
  transitions.subscribe(endSignals(signals));
  const {
    leases,
    instances,
    dispatcher,
    sessions,
    resultWaiters,
    drains,
    shutdown,
    views,
    doubted,
    changeFeed,
    resync,
  } = parts;
  signals.hear(doubted.beforeViews);
  for (const { onSignal } of [
    ...[views, leases, instances, doubted, scheduler, dispatcher, sessions],
    ...[exclusions, drains, shutdown, output, resultWaiters, changeFeed, resync],
  ])
    signals.hear(onSignal);
  parts.instances.onCapacity(() => scheduler.wake());
  exclusions.onExpired(() => scheduler.wake());
  parts.shutdown.subscribe((isPaused) => (isPaused ? scheduler.pause() : scheduler.resume()));
}

/** Work of the hub that has the role of the scheduler; `onGain` is called at the beginning of each term. */
function schedulingOf(
  { leases, doubted, scheduler, sweeper, exclusions, resync }: Parts,
  onGain: () => void,
): RoleHolder {
  const end = async () => {
    await scheduler.stop();
    doubted.stop();
    await leases.stop();
    await sweeper.stop();
  };
  return {
    gained: async (term) => {
      onGain();
      leases.start(term);
      doubted.start();
      try {
        await resync.now();
        await exclusions.load();
        await scheduler.start(term);
      } catch (error) {
        // Leases that began must not count in the next term.
        await end();
        throw error;
      }
      sweeper.start();
    },
    lost: end,
  };
}

/** Start and stop. Each may be called twice; a stop waits for a start that is under way. */
function runningOf({ roles }: Cluster, parts: Parts): Pick<Engine, 'start' | 'resign' | 'quiesce' | 'stop'> {
  const {
    scheduler,
    sessions,
    resultWaiters,
    exclusions,
    sentBlobs,
    changeFeed,
    logFollower,
    webhooks,
    resync,
  } = parts;
  let starting: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  let hasRead = false;
  const role = schedulingOf(parts, () => {
    hasRead = true;
  });
  const start = async () => {
    parts.localSweeper.start();
    await roles.contend(role);
    // Another hub has the role.
    if (!hasRead) await resync.now();
    webhooks?.start();
  };
  const quiesce = async () => {
    // It waits for a sweep; agents and clients do not.
    const resigned = roles.resign();
    await scheduler.stop();
    sessions.closeAll('the hub stops');
    resultWaiters.releaseAll();
    await changeFeed.close();
    logFollower.close();
    await webhooks?.stop();
    await resigned;
  };
  const stop = async () => {
    await starting?.catch(() => undefined);
    await roles.resign();
    await role.lost();
    await changeFeed.close();
    await webhooks?.stop();
    exclusions.stop();
    sentBlobs.stop();
    await parts.localSweeper.stop();
    await parts.uploads.stop();
    await parts.statistics.stop();
  };
  return {
    start: () => {
      if (stopping !== undefined) return Promise.reject(new Error('the engine has been stopped'));
      starting ??= start();
      return starting;
    },
    resign: () => roles.resign(),
    quiesce,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}
