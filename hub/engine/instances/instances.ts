/** The state of agents and their instances, as last reported. */
import { isDeepStrictEqual } from 'node:util';
import type { InstanceProfile, InstanceReport, JobKind } from '@workbench-hub/shared/domain/instance';
import { canTransition, nextState } from '@workbench-hub/shared/domain/state-machine';
import { type AttemptRef, sameAttempt } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { AGENT_TRANSITIONS, type AgentState, type AgentTransition } from '../../core/agent-states.js';
import type { IdleInstance, IdleInstances, InstanceClass } from '../../core/idle-instances.js';
import type { AgentDrain } from '../../core/ports/agent-drains.js';
import type { AgentView, InstanceView } from '../../core/ports/nodes.js';
import type { PresentAgent, StartedInstance } from '../../core/ports/presence.js';
import type { SignalListener } from '../../core/ports/signals.js';
import type { CountedClass } from '../../core/wait-reason.js';
import { agentView, byId, instanceView } from './agent-views.js';
import { type Agent, KnownInstances } from './known-instances.js';

/** Tolerance for the transmission time of a reported age. An instance that rejoins with nearly the same start is the same process,
 *  and keeps the start that clients have seen. */
const SAME_START_MS = 1000;

/** Cooldown of an instance that returned a task. */
const COOLDOWN_MS = 1000;

export interface InstancesOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  /** Whether an instance is kept for the tasks of other hubs; none is when it is left out. */
  readonly isForOthers?: ((profile: InstanceProfile) => boolean) | undefined;
}

export class Instances {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #log: Logger;
  readonly #capacitySubscribers: (() => void)[] = [];
  readonly #changeSubscribers: ((instanceId: string) => void)[] = [];
  readonly #known: KnownInstances;
  /** Number of loans that are to begin on an instance, by its id. */
  readonly #awaited = new Map<string, number>();
  #lastRemovalMs: number;

  constructor({ clock, timers, log, isForOthers = () => false }: InstancesOptions) {
    const onChange = (instanceId: string) => {
      for (const subscriber of this.#changeSubscribers) subscriber(instanceId);
    };
    this.#known = new KnownInstances(onChange, isForOthers);
    this.#clock = clock;
    this.#timers = timers;
    this.#log = log;
    this.#lastRemovalMs = clock.nowMs();
  }

  readonly onSignal: SignalListener = {
    JOINED: ({ agent, running }) => {
      const reports = agent.instances.map((each) => (hasStart(each) ? each : this.joining(agent.id, each)));
      this.connected(agent, reports, running);
    },
    READY: ({ agentId }) => this.ready(agentId),
    INSTANCE: ({ agentId, report }) =>
      this.changed(agentId, hasStart(report) ? report : this.changing(agentId, report)),
    LEFT: ({ agentId }) => this.disconnected(agentId),
    FREED: ({ agentId, ref, coolsDown }) => this.release(agentId, ref, { coolsDown }),
    OCCUPIED: ({ agentId, ref }) => this.occupy(agentId, ref),
    ASSIGNED: ({ claimed: { agentId, ref } }) => this.occupy(agentId, ref),
  };

  /** Adds a subscriber, which is called at every change that may let a waiting task start. */
  onCapacity(subscriber: () => void): void {
    this.#capacitySubscribers.push(subscriber);
  }

  /** Adds a subscriber, which is called when an instance is added or removed, or changes. */
  onChange(subscriber: (instanceId: string) => void): void {
    this.#changeSubscribers.push(subscriber);
  }

  /** Time at which an instance was last removed or changed its class, or the hub started; milliseconds since 1970. A requirement
   *  that fits no instance now has fitted none since then. */
  get lastRemovalMs(): number {
    return this.#lastRemovalMs;
  }

  /** Rises when the first instance of a class becomes known, or the last one is removed. */
  get classesVersion(): number {
    return this.#known.index.classesVersion;
  }

  /** Classes of the known instances, up or not. */
  get classes(): InstanceClass[] {
    return this.#known.index.classes;
  }

  /** The same classes with their numbers of instances, which are live. They change only with {@link classesVersion}. */
  get countedClasses(): Iterable<CountedClass> {
    return this.#known.counts.classes;
  }

  /** Rises when a number of {@link countedClasses} changes. */
  get countsVersion(): number {
    return this.#known.counts.version;
  }

  /** Adds the known agents; they are disconnected until they join. */
  remember(agents: readonly PresentAgent[]): void {
    const state = nextState(AGENT_TRANSITIONS.remember);
    for (const { instances, ...present } of agents) {
      const agent = this.#known.addAgent({ ...present, address: null, state });
      for (const { profile } of instances) {
        const idleSinceMs = this.#clock.monotonicMs();
        this.#known.add(agent, { profile, status: 'UNKNOWN', startedAtMs: null, idleSinceMs });
      }
    }
  }

  /** Drained agents, known or not. */
  get drains(): Iterable<AgentDrain> {
    return this.#known.drains.values();
  }

  drainOf(agentId: string): AgentDrain | null {
    return this.#known.drains.get(agentId) ?? null;
  }

  /** Replaces the drained agents. Nothing begins on them from now on. Returns the differences. */
  setDrains(drains: readonly AgentDrain[]): Record<'drained' | 'undrained', AgentDrain[]> {
    const changes = this.#known.setDrains(drains);
    // Also when only drained: a task that avoids an excluded agent because of this one may go there now.
    if (changes.drained.length + changes.undrained.length > 0) this.#capacityChanged();
    return changes;
  }

  /** An agent has joined with these instances, some of which run these attempts. It gets no tasks before {@link ready}. */
  connected(
    agent: Pick<Agent, 'id' | 'version' | 'revision' | 'address' | 'hub' | 'clockOffsetMs' | 'installation'>,
    reports: readonly StartedInstance[],
    running: readonly AttemptRef[],
  ): void {
    const former = this.#known.instancesOf(agent.id);
    if (
      dropsAny(
        former.map(({ profile }) => profile),
        reports,
      )
    )
      this.#lastRemovalMs = this.#clock.nowMs();
    const state = nextState(AGENT_TRANSITIONS.join);
    const joined = this.#known.addAgent({ ...agent, state, seenAtMs: this.#clock.nowMs() });
    for (const report of reports) {
      this.#known.add(joined, {
        profile: profileOf(report),
        status: report.status,
        startedAtMs: report.startedAtMs,
        idleSinceMs: this.#clock.monotonicMs(),
        lent: report.lent ?? null,
        lentHost: report.lentHost ?? null,
      });
    }
    for (const ref of running) {
      const instance = joined.instances.get(ref.instanceId);
      if (instance) this.#known.setAttempt(instance, ref);
    }
  }

  /** An instance of an agent that joins, with its start: the one that clients have seen, if that may be the same process. */
  joining(agentId: string, report: InstanceReport): StartedInstance {
    const formerMs = this.#formerStart(agentId, report.id);
    const reportedMs = this.#startedAt(report);
    const isSame =
      formerMs !== null && reportedMs !== null && Math.abs(reportedMs - formerMs) < SAME_START_MS;
    const startedAtMs = isSame ? formerMs : reportedMs;
    return { ...report, ...this.#lentHostOf(report), runs: this.#runsOf(agentId, report), startedAtMs };
  }

  /** An instance of a joined agent that changes, with its start: the agent reports no age between two processes. */
  changing(agentId: string, report: InstanceReport): StartedInstance {
    const known = { ...report, ...this.#lentHostOf(report), runs: this.#runsOf(agentId, report) };
    if (report.upForMs === null) return { ...known, startedAtMs: null };
    return { ...known, startedAtMs: this.#formerStart(agentId, report.id) ?? this.#startedAt(report) };
  }

  /** Whether the agent is connected. */
  isConnected(agentId: string): boolean {
    const state = this.#known.agent(agentId)?.state;
    return state === 'CONNECTED' || state === 'READY';
  }

  /** Whether the agent gets tasks. */
  isReady(agentId: string): boolean {
    return this.#known.agent(agentId)?.state === 'READY';
  }

  /** The attempts of the agent have been reconciled: it may get tasks. */
  ready(agentId: string): void {
    const agent = this.#permitting('reconcile', agentId);
    if (!agent) return;
    agent.state = nextState(AGENT_TRANSITIONS.reconcile);
    for (const instance of agent.instances.values()) this.#known.updateAvailability(instance);
    this.#capacityChanged();
  }

  /** The lease of the agent has ended. */
  lost(agentId: string): void {
    const agent = this.#permitting('lose', agentId);
    if (agent) agent.state = nextState(AGENT_TRANSITIONS.lose);
  }

  disconnected(agentId: string): void {
    const agent = this.#permitting('disconnect', agentId);
    if (!agent) return;
    agent.state = nextState(AGENT_TRANSITIONS.disconnect);
    agent.seenAtMs = this.#clock.nowMs();
    for (const instance of agent.instances.values()) {
      instance.status = 'UNKNOWN';
      this.#known.updateAvailability(instance);
    }
    // A task that avoids an excluded agent because of this one may go there now.
    this.#capacityChanged();
  }

  forget(agentId: string): void {
    if (!this.#permitting('forget', agentId)) return;
    this.#lastRemovalMs = this.#clock.nowMs();
    this.#known.removeAgent(agentId);
  }

  changed(agentId: string, report: StartedInstance): void {
    const instance = this.#known.agent(agentId)?.instances.get(report.id);
    if (!instance) return;
    const lent = report.lent ?? null;
    const isUpAgain = instance.status !== 'UP' && report.status === 'UP';
    const isOfferedAgain = instance.lent !== null && instance.lent !== 'OFFERED' && lent === 'OFFERED';
    if (isUpAgain || isOfferedAgain) instance.idleSinceMs = this.#clock.monotonicMs();
    instance.status = report.status;
    instance.lent = lent;
    instance.startedAtMs = report.startedAtMs;
    this.#known.setLentHost(instance, report.lentHost ?? null);
    if (this.#known.setRuns(instance, report.runs)) this.#lastRemovalMs = this.#clock.nowMs();
    this.#known.updateAvailability(instance);
    this.#capacityChanged();
  }

  /** Reserves the instance for this attempt; false when its agent has disconnected or was drained meanwhile, or joined again with
   *  another attempt on it. */
  reserve(ref: AttemptRef, agentId: string): boolean {
    const instance = this.#known.instance(ref.instanceId);
    if (!instance || instance.agentId !== agentId) return false;
    if (instance.attempt && !sameAttempt(instance.attempt, ref)) return false;
    if (this.#known.agent(agentId)?.state !== 'READY' || this.#known.drains.has(agentId)) return false;
    this.#known.setAttempt(instance, ref);
    return true;
  }

  /** Attempts that the instances of the agent run. */
  attemptsOf(agentId: string): AttemptRef[] {
    return this.#known.instancesOf(agentId).flatMap(({ attempt }) => attempt ?? []);
  }

  /** Attempt that the instance runs; null for none. */
  attemptOn(instanceId: string): AttemptRef | null {
    return this.#known.instance(instanceId)?.attempt ?? null;
  }

  /** The instance of this agent has got this attempt, maybe from another hub. */
  occupy(agentId: string, ref: AttemptRef): void {
    const instance = this.#known.instance(ref.instanceId);
    if (instance?.agentId === agentId) this.#known.setAttempt(instance, ref);
  }

  /** Releases the instance of this agent, if it is reserved for this attempt; with `coolsDown` its cooldown begins. */
  release(agentId: string, ref: AttemptRef, { coolsDown = false } = {}): void {
    const instance = this.#known.instance(ref.instanceId);
    if (instance?.agentId !== agentId || !instance.attempt || !sameAttempt(instance.attempt, ref)) return;
    instance.idleSinceMs = this.#clock.monotonicMs();
    instance.coolingDown = coolsDown;
    this.#known.setAttempt(instance, null);
    this.#capacityChanged();
    if (!coolsDown) return;
    this.#timers.after(COOLDOWN_MS, () => {
      instance.coolingDown = false;
      this.#known.updateAvailability(instance);
      this.#capacityChanged();
    });
  }

  /** Number of lent hosts that come and go, by class, with idle instances. */
  get lentHosts(): number {
    return this.#known.index.lentHosts;
  }

  /** Instances that can begin a task of this hub now: a live view, to be used synchronously. */
  get idle(): IdleInstances {
    return this.#known.index.idle;
  }

  /** The instance, if it can begin a task now, be it only one of another hub. */
  idleInstance(instanceId: string): IdleInstance | undefined {
    const instance = this.#known.instance(instanceId);
    return instance && this.#known.canBegin(instance) ? instance : undefined;
  }

  /** Monotonic time since which the instance is idle; null while it cannot begin a task. */
  idleSinceMsOf(instanceId: string): number | null {
    return this.idleInstance(instanceId)?.idleSinceMs ?? null;
  }

  /** Notes that a loan is to begin on an idle instance, whose inputs are on their way; the returned function ends that. */
  awaitLoan(instanceId: string): () => void {
    const count = (by: 1 | -1) => {
      const now = (this.#awaited.get(instanceId) ?? 0) + by;
      if (now === 0) this.#awaited.delete(instanceId);
      else this.#awaited.set(instanceId, now);
    };
    count(1);
    return () => count(-1);
  }

  /** Whether a loan is to begin on the instance. */
  awaitsLoan(instanceId: string): boolean {
    return this.#awaited.has(instanceId);
  }

  /** Agents that are not drained, with an instance of this class that is up, idle or not. */
  agentsUp(instanceClass: InstanceClass): Iterable<string> {
    return this.#known.index.agentsUp(instanceClass);
  }

  /** All instances, by id. */
  list(): InstanceView[] {
    return [...this.#known.instances]
      .map((instance) => instanceView(instance, this.drainOf(instance.agentId)))
      .sort(byId(({ profile }) => profile.id));
  }

  find(instanceId: string): InstanceView | undefined {
    const instance = this.#known.instance(instanceId);
    return instance && instanceView(instance, this.drainOf(instance.agentId));
  }

  /** All agents, by id. */
  agents(): AgentView[] {
    return [...this.#known.agents]
      .map((agent) => agentView(agent, this.drainOf(agent.id)))
      .sort(byId(({ id }) => id));
  }

  findAgent(agentId: string): AgentView | undefined {
    const agent = this.#known.agent(agentId);
    return agent && agentView(agent, this.drainOf(agentId));
  }

  /** The agent, if its state permits the transition; otherwise the refusal is logged. */
  #permitting(transition: AgentTransition, agentId: string): Agent | undefined {
    const agent = this.#known.agent(agentId);
    if (agent && canTransition<AgentState>(AGENT_TRANSITIONS[transition], agent.state)) return agent;
    this.#log.warn(
      { agentId, transition, state: agent?.state ?? '-' },
      'a transition that the agent does not permit was refused',
    );
    return undefined;
  }

  #capacityChanged(): void {
    for (const subscriber of this.#capacitySubscribers) subscriber();
  }

  #startedAt({ upForMs }: InstanceReport): number | null {
    return upForMs === null ? null : Math.round(this.#clock.nowMs() - upForMs);
  }

  /** End of the host from which a joined hub lends the instance, by the clock of this hub. */
  #lentHostOf({ host }: InstanceReport): Pick<StartedInstance, 'lentHost'> {
    return host ? { lentHost: { id: host.id, atMs: Math.round(this.#clock.nowMs() + host.leftMs) } } : {};
  }

  /** Kind of jobs that the instance runs: as its program says when it is up, and until then as it said before. */
  #runsOf(agentId: string, { id, status, version, labels, runs }: InstanceReport): JobKind | undefined {
    if (status === 'UP' || runs) return runs;
    const former = this.#known.agent(agentId)?.instances.get(id)?.profile;
    const isSame = former?.version === version && isDeepStrictEqual(former.labels, labels);
    return isSame ? former.runs : undefined;
  }

  #formerStart(agentId: string, instanceId: string): number | null {
    return this.#known.agent(agentId)?.instances.get(instanceId)?.startedAtMs ?? null;
  }
}

/** The profile alone, without other fields of a report. */
export function profileOf({ id, version, revision, labels, runs }: InstanceProfile): InstanceProfile {
  return { id, version, revision, labels, runs };
}

/** False for a report that a hub of an earlier version has passed on. */
function hasStart(report: InstanceReport & Partial<StartedInstance>): report is StartedInstance {
  return report.startedAtMs !== undefined;
}

/** Whether an instance is missing in the reports, or changed. */
function dropsAny(former: readonly InstanceProfile[], reports: readonly InstanceReport[]): boolean {
  const offered = new Set(reports.map((report) => JSON.stringify(profileOf(report))));
  return former.some((profile) => !offered.has(JSON.stringify(profileOf(profile))));
}
