/**
 * The engine: every moving part of the hub over the ports of core, subject by subject. The hub puts adapters around it, a
 * simulation drives it alone.
 *
 * Calls go one way only: each subject receives only parts of those built before it; calls to earlier parts are events, to
 * which they have subscribed.
 */
import { usableMs } from '../core/hosts/host-end.js';
import type { Nodes } from '../core/ports/nodes.js';
import type { Cluster } from '../core/ports/store.js';
import type { Upstreams } from '../core/ports/upstreams.js';
import { RunTimeBook } from '../core/run-times.js';
import { nameOf } from '../core/task.js';
import type { AgentDrains } from './agents/agent-drains.js';
import type { AgentUpdates } from './agents/agent-updates.js';
import type { Agents } from './agents/agents.js';
import { type AgentPorts, buildAgents } from './agents/build-agents.js';
import type { RolloutViews } from './agents/rollout-views.js';
import type { SentBlobs } from './agents/sent-blobs.js';
import { buildFollowing, buildLogFollower, type FollowingPorts } from './following/build-following.js';
import type { ChangeFeed } from './following/change-feed.js';
import type { LogFollower } from './following/log-follower.js';
import type { ResultWaiters } from './following/result-waiters.js';
import { buildHosts, type HostPorts } from './hosts/build-hosts.js';
import type { RecipeViews } from './hosts/recipe-views.js';
import { buildInstances, type InstancePorts } from './instances/build-instances.js';
import { InstanceControl } from './instances/instance-control.js';
import type { Instances } from './instances/instances.js';
import { liveNodes } from './instances/live-nodes.js';
import { buildLending, type LendingPorts } from './lending/build-lending.js';
import { isLentForGood, takesTasksOf } from './lending/lending-settings.js';
import { type Running, runningOf } from './running.js';
import { buildScheduling, type SchedulingPorts } from './scheduling/build-scheduling.js';
import { HostEnds } from './scheduling/host-ends.js';
import type { ShutdownPreparation } from './scheduling/shutdown-preparation.js';
import { buildStorage, type StoragePorts } from './storage/build-storage.js';
import type { ResumableUploadService } from './storage/resumable-upload-service.js';
import type { Storage } from './storage/storage.js';
import { buildStudies, type StudyPorts } from './studies/build-studies.js';
import type { InvalidationService } from './studies/invalidation-service.js';
import type { StudyFollower } from './studies/study-follower.js';
import type { StudyService } from './studies/study-service.js';
import { buildTasks, type TaskPorts } from './tasks/build-tasks.js';
import type { BulkChanges } from './tasks/bulk-changes.js';
import type { TaskDetailsReader } from './tasks/task-details.js';
import type { Tasks } from './tasks/tasks.js';
import { buildTransitions, type TransitionPorts } from './transitions/build-transitions.js';
import { endSignals, queueSignals } from './transitions/task-signals.js';
import { buildUpkeep, type UpkeepPorts } from './upkeep/build-upkeep.js';
import { ClockWatch } from './upkeep/clock-watch.js';
import type { Statistics } from './upkeep/statistics.js';
import { buildWaiting, type WaitingPorts } from './waiting/build-waiting.js';
import type { Explanations } from './waiting/explanations.js';
import { buildWebhooks, type WebhooksPorts } from './webhooks/build-webhooks.js';
import type { Webhooks } from './webhooks/webhooks.js';

/** The ports and settings of all subjects. */
export interface EngineOptions
  extends StoragePorts,
    InstancePorts,
    TransitionPorts,
    FollowingPorts,
    AgentPorts,
    SchedulingPorts,
    WaitingPorts,
    WebhooksPorts,
    TaskPorts,
    StudyPorts,
    LendingPorts,
    HostPorts,
    UpkeepPorts {
  readonly cluster: Cluster;
}

export interface Engine extends Running {
  readonly tasks: Tasks;
  readonly studies: StudyService;
  readonly studyFollower: StudyFollower;
  readonly invalidations: InvalidationService;
  readonly details: TaskDetailsReader;
  readonly changeFeed: ChangeFeed;
  readonly logFollower: LogFollower;
  readonly bulkChanges: BulkChanges;
  readonly statistics: Statistics;
  readonly agents: Agents;
  readonly instances: Instances;
  readonly nodes: Nodes;
  readonly drains: AgentDrains;
  readonly updates: AgentUpdates;
  readonly rolloutViews: RolloutViews;
  readonly control: InstanceControl;
  readonly upstreams: Upstreams;
  readonly recipeViews: RecipeViews;
  readonly shutdown: ShutdownPreparation;
  readonly explanations: Explanations;
  readonly resultWaiters: ResultWaiters;
  readonly storage: Storage;
  /** Null for a hub that sends none. */
  readonly webhooks: Webhooks | null;
  readonly uploads: ResumableUploadService;
  readonly sentBlobs: SentBlobs;
  /** Sweeps now, instead of within a minute. */
  sweep(): Promise<void>;
}

/** Builds the engine with the agents that the store knows; nothing runs before its start. Rejects as the store does. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const { runtime, cluster } = options;
  const clockWatch = new ClockWatch(runtime.clock);
  const storage = buildStorage(options, clockWatch.mayExpire);
  const webhooks = buildWebhooks(options, clockWatch.mayExpire);
  const { upstreams: joinedUpstreams = [] } = options;
  const instances = await buildInstances(options, isLentForGood(joinedUpstreams));
  const transitions = buildTransitions(options);
  const following = buildFollowing(options, transitions.transitions);
  const runTimes = new RunTimeBook();
  const longestMs = Math.max(0, ...(options.hostRecipes ?? []).map(({ recipe }) => usableMs(recipe)));
  const hostEnds = new HostEnds(runtime.clock, runTimes, longestMs);
  const before = {
    ...storage,
    ...instances,
    ...transitions,
    ...following,
    clockWatch,
    webhooks,
    runTimes,
    hostEnds,
    takesTasksOf: takesTasksOf(joinedUpstreams),
  };
  const agents = await buildAgents(options, before);
  const scheduling = await buildScheduling(options, { ...before, ...agents });
  const caughtUp = async () => {
    await cluster.signals.caughtUp();
    await Promise.all([agents.drains.settled(), scheduling.shutdown.settled()]);
  };
  const hosts = buildHosts(options, { ...before, ...agents, ...scheduling });
  const waiting = buildWaiting(options, { ...before, ...agents, ...scheduling, ...hosts, caughtUp });
  const tasks = buildTasks(options, { ...before, ...scheduling, ...waiting });
  const studies = buildStudies(options, { ...before, ...scheduling });
  const upkeep = buildUpkeep(options, { ...before, ...agents, ...waiting });
  const logFollower = buildLogFollower(options, { ...before, ...agents, ...tasks });
  const nodes = liveNodes(instances.instances, caughtUp);
  const control = new InstanceControl(nodes, cluster.relay, nameOf(options.ownHub));
  const { lending, upstreams } = buildLending(options, {
    ...before,
    ...agents,
    ...scheduling,
    ...hosts,
    control,
    logFollower,
  });
  // Waiting clients come last: when they are woken, everything else is up to date.
  transitions.transitions.subscribe(queueSignals(cluster.signals));
  transitions.transitions.subscribe(endSignals(cluster.signals, waiting.explanations.runOf));
  transitions.transitions.subscribe(waiting.explanations.onRunningTask);

  const parts = {
    ...before,
    ...agents,
    ...scheduling,
    ...waiting,
    ...tasks,
    ...studies,
    ...hosts,
    ...upkeep,
    logFollower,
    lending,
  };
  return {
    ...parts,
    nodes,
    control,
    upstreams,
    sweep: async () => {
      await parts.sweeper.sweep();
      await parts.localSweeper.sweep();
    },
    ...runningOf(cluster.roles, parts),
  };
}
