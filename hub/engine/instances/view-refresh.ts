/**
 * Refresh of the live views of agents and instances from the rows of the store, which are the truth: signals keep the views up to date,
 * and may get lost.
 */
import { isDeepStrictEqual } from 'node:util';
import { kindKey } from '@workbench-hub/shared/domain/instance';
import { type AttemptRef, attemptKey, sameAttempt } from '@workbench-hub/shared/domain/task';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { AgentView } from '../../core/ports/nodes.js';
import type { Presence, PresentAgent, PresentInstance, StartedInstance } from '../../core/ports/presence.js';
import type { SignalListener } from '../../core/ports/signals.js';
import type { RunningAttempt, TaskQueue } from '../../core/ports/task-queue.js';
import type { Instances } from './instances.js';

export interface ViewRefreshOptions {
  readonly presence: Pick<Presence, 'all'>;
  readonly queue: Pick<TaskQueue, 'running'>;
  readonly instances: Instances;
  readonly clock: Clock;
}

/** Changes since a read of the rows began, which may be out of date. */
interface ChangedSince {
  /** Agents. */
  readonly changed: Set<string>;
  /** Agents that have joined: of these, also the attempts. */
  readonly joined: Set<string>;
  /** Attempts that have left their instances, by name. */
  readonly freed: Set<string>;
  /** Instances that have got an attempt. */
  readonly occupied: Set<string>;
}

/** Age from which a join counts as reconciled when no signal says so. */
const RECONCILED_AFTER_MS = 10_000;

export class ViewRefresh {
  readonly #options: ViewRefreshOptions;
  /** Undefined while no read is under way: then nothing is noted. */
  #since: ChangedSince | undefined;
  /** Attempts of the views that no row had at the latest refresh, by instance. Those of canceled tasks end by themselves. */
  #unconfirmed = new Map<string, AttemptRef>();

  constructor(options: ViewRefreshOptions) {
    this.#options = options;
  }

  readonly onSignal: SignalListener = {
    JOINED: ({ agent }) => {
      this.#since?.changed.add(agent.id);
      this.#since?.joined.add(agent.id);
    },
    READY: ({ agentId }) => void this.#since?.changed.add(agentId),
    INSTANCE: ({ agentId }) => void this.#since?.changed.add(agentId),
    LEFT: ({ agentId }) => void this.#since?.changed.add(agentId),
    FREED: ({ ref }) => void this.#since?.freed.add(attemptKey(ref)),
    OCCUPIED: ({ ref }) => void this.#since?.occupied.add(ref.instanceId),
    ASSIGNED: ({ claimed }) => void this.#since?.occupied.add(claimed.ref.instanceId),
  };

  /** Makes the views those of the rows, but for what changes meanwhile; resolves with all running attempts. Rejects as the store
   *  does. One refresh at a time. */
  async refresh(): Promise<readonly RunningAttempt[]> {
    const { presence, queue } = this.#options;
    const since = {
      changed: new Set<string>(),
      joined: new Set<string>(),
      freed: new Set<string>(),
      occupied: new Set<string>(),
    };
    this.#since = since;
    try {
      const [agents, running] = await Promise.all([presence.all(), queue.running()]);
      this.#show(agents, running, since);
      return running;
    } finally {
      this.#since = undefined;
    }
  }

  #show(agents: readonly PresentAgent[], running: readonly RunningAttempt[], since: ChangedSince): void {
    const { instances } = this.#options;
    const attempts = byAgent(running);
    const unconfirmed = new Map<string, AttemptRef>();
    for (const agent of agents) {
      const refs = (attempts.get(agent.id) ?? []).filter((ref) => !since.freed.has(attemptKey(ref)));
      if (!since.changed.has(agent.id)) this.#follow(agent, refs);
      if (since.joined.has(agent.id)) continue;
      for (const ref of this.#occupy(agent, refs, since)) unconfirmed.set(ref.instanceId, ref);
    }
    this.#unconfirmed = unconfirmed;
    const known = new Set(agents.map(({ id }) => id));
    for (const { id, status } of instances.agents()) {
      if (status === 'DOWN' && !known.has(id) && !since.changed.has(id)) instances.forget(id);
    }
  }

  #follow(agent: PresentAgent, running: readonly AttemptRef[]): void {
    const { instances, clock } = this.#options;
    const { id, isConnected, seenAtMs } = agent;
    const view = instances.findAgent(id);
    const isSame = view !== undefined && hasInstancesOf(view, agent);
    if (!isConnected) {
      if (view?.status === 'UP') instances.disconnected(id);
      if (!isSame) instances.remember([agent]);
      return;
    }
    if (!isSame || view.status !== 'UP')
      instances.connected(
        agent,
        agent.instances.map((each) => reportOf(each, clock)),
        running,
      );
    else for (const changed of changedOf(view, agent)) instances.changed(id, reportOf(changed, clock));
    const isReconciled = clock.nowMs() - seenAtMs >= RECONCILED_AFTER_MS;
    if (isReconciled && !instances.isReady(id)) instances.ready(id);
  }

  /** Makes the instances of an agent run these attempts. Returns others that they run for the first time without a row. */
  #occupy(
    { id: agentId, instances: held }: PresentAgent,
    running: readonly AttemptRef[],
    since: ChangedSince,
  ): AttemptRef[] {
    const { instances } = this.#options;
    const unconfirmed: AttemptRef[] = [];
    for (const { profile } of held) {
      if (since.occupied.has(profile.id)) continue;
      const inView = instances.attemptOn(profile.id);
      const rows = running.filter(({ instanceId }) => instanceId === profile.id);
      // Beside the attempt that it runs, a row may have one that has ended, until its report arrives.
      const ref = rows.find((row) => inView && sameAttempt(row, inView)) ?? rows.at(-1);
      if (inView && !(ref && sameAttempt(ref, inView))) {
        const before = this.#unconfirmed.get(profile.id);
        if (!before || !sameAttempt(before, inView)) {
          // It may have begun after the rows were read.
          unconfirmed.push(inView);
          continue;
        }
        instances.release(agentId, inView);
      }
      if (ref) instances.occupy(agentId, ref);
    }
    return unconfirmed;
  }
}

/** Running attempts by agent. */
export function byAgent(running: readonly RunningAttempt[]): ReadonlyMap<string, readonly AttemptRef[]> {
  const attempts = new Map<string, AttemptRef[]>();
  for (const { agentId, ref } of running) {
    const ofAgent = attempts.get(agentId);
    if (ofAgent) ofAgent.push(ref);
    else attempts.set(agentId, [ref]);
  }
  return attempts;
}

function hasInstancesOf(view: AgentView, { instances }: PresentAgent): boolean {
  const profiles = (of: readonly Pick<PresentInstance, 'profile'>[]) =>
    JSON.stringify(
      of.map(({ profile: { id, version, revision, labels } }) => [id, version, revision, labels]),
    );
  return profiles(view.instances) === profiles(instances);
}

function changedOf(view: AgentView, { instances }: PresentAgent): PresentInstance[] {
  return instances.filter(({ profile, status, startedAtMs, lent, lentHost }, at) => {
    const known = view.instances[at];
    const isSame = known?.status === status && known.startedAtMs === startedAtMs && known.lent === lent;
    if (!isSame || !isDeepStrictEqual(known.lentHost, lentHost)) return true;
    return kindKey(known.profile.runs) !== kindKey(profile.runs);
  });
}

function reportOf(
  { profile, status, startedAtMs, lent, lentHost }: PresentInstance,
  clock: Clock,
): StartedInstance {
  return {
    ...profile,
    // Only instances of disconnected agents are unknown.
    status: status === 'UNKNOWN' ? 'DOWN' : status,
    upForMs: startedAtMs === null ? null : Math.max(0, clock.nowMs() - startedAtMs),
    startedAtMs,
    lent,
    lentHost,
  };
}
