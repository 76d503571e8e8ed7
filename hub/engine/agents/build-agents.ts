/** Agents and the attempts that they hold. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { RolloutRules } from '../../core/agent-rollout.js';
import type { RetryLimits } from '../../core/attempt-consequences.js';
import type { AgentDrainStore } from '../../core/ports/agent-drains.js';
import type { AgentRollouts } from '../../core/ports/agent-rollouts.js';
import type { Allocations } from '../../core/ports/allocations.js';
import type { AttemptProofs } from '../../core/ports/attempt-proofs.js';
import type { BlobStore } from '../../core/ports/blobs.js';
import { NO_TASK_METRICS, type TaskMetrics } from '../../core/ports/metrics.js';
import type { Cluster } from '../../core/ports/store.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { TaskExclusions } from '../../core/ports/task-exclusions.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import { nameOf } from '../../core/task.js';
import type { TaskOutput } from '../following/task-output.js';
import type { Instances } from '../instances/instances.js';
import type { Storage } from '../storage/storage.js';
import type { TaskTraces } from '../transitions/task-traces.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import { AgentDrains } from './agent-drains.js';
import { AgentExclusions } from './agent-exclusions.js';
import { AgentRollout } from './agent-rollout.js';
import { AgentSessions } from './agent-sessions.js';
import { AgentSpread } from './agent-spread.js';
import { AgentUpdates, type UpdateOffer } from './agent-updates.js';
import { Agents } from './agents.js';
import { Attempts } from './attempts.js';
import { Dispatcher } from './dispatcher.js';
import { HeldAttempts } from './held-attempts.js';
import { Leases } from './leases.js';
import { relayReceiver } from './relay-receiver.js';
import { RolloutViews } from './rollout-views.js';
import { SentBlobs } from './sent-blobs.js';

export interface AgentPorts {
  readonly queue: TaskQueue;
  readonly archive: TaskArchive;
  readonly exclusions: TaskExclusions;
  readonly allocations: Allocations;
  readonly agentDrains: AgentDrainStore;
  readonly rollouts: AgentRollouts;
  readonly proofs: AttemptProofs;
  readonly files: BlobStore;
  readonly cluster: Pick<Cluster, 'presence' | 'signals' | 'hubs' | 'relay'>;
  readonly metrics?: TaskMetrics;
  readonly limits: RetryLimits;
  readonly leaseTimeoutMs: number;
  /** Identity of this hub, or of all hubs on its database, and its public address; null without one. */
  readonly ownHub: { readonly id: string; readonly baseUrl: string | null };
  /** The files of the agent that the hub offers; null or absent for a hub that updates no agents. */
  readonly updateOffer?: UpdateOffer | null;
  /** Rules by which it updates agents without being asked; null or absent for a hub that updates them on request only. */
  readonly rolloutRules?: RolloutRules | null;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** The subjects that were built before. */
interface Before {
  readonly storage: Storage;
  readonly instances: Instances;
  readonly transitions: TaskTransitions;
  readonly traces: TaskTraces;
  readonly output: TaskOutput;
}

/** Rejects as the store does. */
export async function buildAgents(ports: AgentPorts, before: Before) {
  const { queue, archive, proofs, files, cluster, metrics, limits, leaseTimeoutMs, ownHub, runtime, log } =
    ports;
  const { storage, instances, transitions, traces, output } = before;
  const { presence, signals, hubs, relay } = cluster;
  const { clock, timers } = runtime;
  const { exclusions, drains } = await withoutWork(ports, instances);
  const sessions = new AgentSessions({ runtime, log, traces, proofs, ownName: nameOf(ownHub) });
  const sentBlobs = new SentBlobs(files, runtime);
  const attempts = new Attempts({ transitions, archive, storage, limits, clock, log, exclusions });
  const leases = new Leases({ queue, attempts, instances, timers, log, leaseTimeoutMs });
  const dispatcher = new Dispatcher({ sessions, transitions, signals, log });
  const offer = ports.updateOffer ?? null;
  const updates = new AgentUpdates({ offer, sessions, relay, runtime, log });
  const aboutRollout = { offer, rules: ports.rolloutRules ?? null, rollouts: ports.rollouts, hubs, log };
  const rollout = new AgentRollout({
    ...{ ...aboutRollout, updates, runtime },
    metrics: metrics ?? NO_TASK_METRICS,
    agents: () => instances.agents(),
  });
  const rolloutViews = new RolloutViews({ ...aboutRollout, clock });
  const agents = new Agents({
    ...{ queue, transitions, presence, signals, files, sessions, instances, sentBlobs, attempts, proofs },
    ...{ output, updates, clock, log, allocations: ports.allocations },
    metrics: metrics ?? NO_TASK_METRICS,
    isOutputStorageOn: storage.isOutputStorageOn,
    ownHubId: ownHub.id,
  });
  const held = new HeldAttempts({ sessions, archive, transitions, log });
  const spread = new AgentSpread({ hubs, sessions, log });
  transitions.subscribe(attempts.onTask);
  for (const { onSignal } of [leases, dispatcher, sessions, exclusions, drains]) signals.hear(onSignal);
  relay.serve(relayReceiver(sessions, output));
  return {
    exclusions,
    drains,
    updates,
    rollout,
    rolloutViews,
    sessions,
    sentBlobs,
    attempts,
    leases,
    dispatcher,
    agents,
    held,
    spread,
  };
}

/** Agents that get no tasks: all, or those that they have failed at. */
async function withoutWork(
  { queue, agentDrains, exclusions: store, cluster: { signals }, runtime, log }: AgentPorts,
  instances: Instances,
) {
  const { clock, timers } = runtime;
  const drains = new AgentDrains({ store: agentDrains, signals, queue, instances, clock, timers, log });
  await drains.refresh();
  return { drains, exclusions: new AgentExclusions({ store, signals, instances, clock, timers, log }) };
}
