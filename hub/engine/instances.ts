/** Agents and their instances, as last reported. */
import type {
  AgentStatus,
  InstanceProfile,
  InstanceReport,
  InstanceStatus,
} from '@workbench-hub/shared/domain/instance';
import { canTransition, nextState } from '@workbench-hub/shared/domain/state-machine';
import { type AttemptRef, sameAttempt } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { AGENT_TRANSITIONS, type AgentState, type AgentTransition } from '../core/agent-states.js';
import type { IdleInstances, InstanceClass } from '../core/idle-instances.js';
import type { AgentDrain } from '../core/ports/agent-drains.js';
import type { AgentRecord } from '../core/ports/agent-store.js';
import { type CountedClass, countedState } from '../core/wait-reason.js';
import { InstanceCounts } from './instance-counts.js';
import { type Availability, type IndexedInstance, InstanceIndex } from './instance-index.js';

/** An instance as clients see it. */
export interface InstanceView {
  readonly profile: InstanceProfile;
  readonly agentId: string;
  readonly status: InstanceStatus;
  readonly startedAtMs: number | null;
  readonly working: boolean;
  /** Null unless its agent is drained. */
  readonly drain: AgentDrain | null;
}

export interface AgentView {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  /** Address of its host; null when unknown. */
  readonly address: string | null;
  readonly status: AgentStatus;
  readonly seenAtMs: number;
  /** Lead of its clock over the hub's when it joined, in ms; null when it did not report its clock. */
  readonly clockOffsetMs: number | null;
  readonly drain: AgentDrain | null;
  readonly instances: readonly InstanceView[];
}

interface Instance extends IndexedInstance {
  readonly agent: Agent;
  status: InstanceStatus;
  startedAtMs: number | null;
  /** Attempt that it runs, or null. */
  attempt: AttemptRef | null;
  idleSinceMs: number;
  /** The instance takes no task for a while, since it returned one. */
  coolingDown: boolean;
}

interface Agent {
  id: string;
  version: string;
  revision: string;
  address: string | null;
  state: Exclude<AgentState, '-'>;
  seenAtMs: number;
  clockOffsetMs: number | null;
  instances: Map<string, Instance>;
}

/** Tolerance for the transmission time of a reported age. An instance that rejoins with nearly the same start is the same process,
 *  and keeps the start that clients have seen. */
const SAME_START_MS = 1000;

/** Cooldown of an instance that returned a task. */
const COOLDOWN_MS = 1000;

export interface InstancesOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
}

export class Instances {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #log: Logger;
  readonly #capacitySubscribers: (() => void)[] = [];
  readonly #agents = new Map<string, Agent>();
  readonly #instances = new Map<string, Instance>();
  readonly #index = new InstanceIndex();
  readonly #counts = new InstanceCounts();
  /** By agent, known or not. */
  #drains: ReadonlyMap<string, AgentDrain> = new Map();
  #lastRemovalMs: number;

  constructor({ clock, timers, log }: InstancesOptions) {
    this.#clock = clock;
    this.#timers = timers;
    this.#log = log;
    this.#lastRemovalMs = clock.nowMs();
  }

  /** Adds a subscriber, which is called at every change that may let a waiting task start. */
  onCapacity(subscriber: () => void): void {
    this.#capacitySubscribers.push(subscriber);
  }

  /** Time at which an instance was last removed or changed its class, or the hub started; milliseconds since 1970. A requirement
   *  that fits no instance now has fitted none since then. */
  get lastRemovalMs(): number {
    return this.#lastRemovalMs;
  }

  /** Rises when the first instance of a class becomes known, or the last one is removed. */
  get classesVersion(): number {
    return this.#index.classesVersion;
  }

  /** Classes of the known instances, up or not. */
  get classes(): InstanceClass[] {
    return this.#index.classes;
  }

  /** The same classes with their numbers of instances, which are live. They change only with {@link classesVersion}. */
  get countedClasses(): Iterable<CountedClass> {
    return this.#counts.classes;
  }

  /** Rises when a number of {@link countedClasses} changes. */
  get countsVersion(): number {
    return this.#counts.version;
  }

  /** Adds the agents of the store; they are disconnected until they join. */
  remember(records: readonly AgentRecord[]): void {
    for (const record of records) {
      const agent: Agent = {
        ...record,
        address: null,
        state: nextState(AGENT_TRANSITIONS.remember),
        instances: new Map(),
      };
      this.#agents.set(agent.id, agent);
      for (const profile of record.instances) this.#add(agent, profile, 'UNKNOWN', null);
    }
  }

  /** Drained agents, known or not. */
  get drains(): Iterable<AgentDrain> {
    return this.#drains.values();
  }

  drainOf(agentId: string): AgentDrain | null {
    return this.#drains.get(agentId) ?? null;
  }

  /** Replaces the drained agents. Nothing begins on them from now on. Returns the differences. */
  setDrains(drains: readonly AgentDrain[]): Record<'drained' | 'undrained', AgentDrain[]> {
    const former = this.#drains;
    this.#drains = new Map(drains.map((drain) => [drain.agentId, drain]));
    const drained = drains.filter(({ agentId }) => !former.has(agentId));
    const undrained = [...former.values()].filter(({ agentId }) => !this.#drains.has(agentId));
    const changed = [...drained, ...undrained];
    for (const { agentId } of changed) {
      for (const instance of this.#agents.get(agentId)?.instances.values() ?? [])
        this.#updateAvailability(instance);
    }
    // Also when only drained: a task that avoids an excluded agent because of this one may go there now.
    if (changed.length > 0) this.#capacityChanged();
    return { drained, undrained };
  }

  /** Another connected agent that holds an instance with this id. */
  holderOf(instanceId: string, exceptAgentId: string): string | undefined {
    const instance = this.#instances.get(instanceId);
    if (!instance || instance.agentId === exceptAgentId) return undefined;
    return this.isConnected(instance.agentId) ? instance.agentId : undefined;
  }

  /** An agent has joined with these instances, some of which run these attempts. It gets no tasks before {@link ready}. */
  connected(
    {
      id,
      version,
      revision,
      address,
      clockOffsetMs,
    }: Pick<Agent, 'id' | 'version' | 'revision' | 'address' | 'clockOffsetMs'>,
    reports: readonly InstanceReport[],
    running: readonly AttemptRef[],
  ): void {
    if (this.#dropsAny(id, reports)) this.#lastRemovalMs = this.#clock.nowMs();
    const before = new Map(this.#agents.get(id)?.instances);
    this.#forgetInstances(id);
    const agent: Agent = {
      id,
      version,
      revision,
      address,
      state: nextState(AGENT_TRANSITIONS.join),
      seenAtMs: this.#clock.nowMs(),
      clockOffsetMs,
      instances: new Map(),
    };
    this.#agents.set(id, agent);
    for (const report of reports) {
      const formerMs = before.get(report.id)?.startedAtMs ?? null;
      const startedAtMs = this.#startedAt(report);
      const isSame = formerMs !== null && Math.abs((startedAtMs ?? 0) - formerMs) < SAME_START_MS;
      this.#add(agent, profileOf(report), report.status, isSame ? formerMs : startedAtMs);
    }
    for (const ref of running) {
      const instance = agent.instances.get(ref.instanceId);
      if (instance) this.#setAttempt(instance, ref);
    }
  }

  /** Whether the agent is connected. */
  isConnected(agentId: string): boolean {
    const state = this.#agents.get(agentId)?.state;
    return state === 'CONNECTED' || state === 'READY';
  }

  /** The attempts of the agent have been reconciled: it may get tasks. */
  ready(agentId: string): void {
    const agent = this.#permitting('reconcile', agentId);
    if (!agent) return;
    agent.state = nextState(AGENT_TRANSITIONS.reconcile);
    for (const instance of agent.instances.values()) this.#updateAvailability(instance);
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
      this.#updateAvailability(instance);
    }
    // A task that avoids an excluded agent because of this one may go there now.
    this.#capacityChanged();
  }

  forget(agentId: string): void {
    if (!this.#permitting('forget', agentId)) return;
    this.#lastRemovalMs = this.#clock.nowMs();
    this.#forgetInstances(agentId);
    this.#agents.delete(agentId);
  }

  changed(agentId: string, report: InstanceReport): void {
    const instance = this.#agents.get(agentId)?.instances.get(report.id);
    if (!instance) return;
    if (instance.status !== 'UP' && report.status === 'UP') instance.idleSinceMs = this.#clock.monotonicMs();
    instance.status = report.status;
    // The agent reports no age between two processes.
    if (report.upForMs === null) instance.startedAtMs = null;
    else instance.startedAtMs ??= this.#startedAt(report);
    this.#updateAvailability(instance);
    this.#capacityChanged();
  }

  /** Reserves the instance for this attempt; false when its agent has disconnected or was drained meanwhile, or joined again with
   *  another attempt on it. */
  reserve(ref: AttemptRef, agentId: string): boolean {
    const instance = this.#instances.get(ref.instanceId);
    if (!instance || instance.agentId !== agentId || instance.attempt) return false;
    if (this.#agents.get(agentId)?.state !== 'READY' || this.#drains.has(agentId)) return false;
    this.#setAttempt(instance, ref);
    return true;
  }

  /** Releases the instance of this agent, if it is reserved for this attempt; with `coolsDown` its cooldown begins. */
  release(agentId: string, ref: AttemptRef, { coolsDown = false } = {}): void {
    const instance = this.#instances.get(ref.instanceId);
    if (instance?.agentId !== agentId || !instance.attempt || !sameAttempt(instance.attempt, ref)) return;
    instance.idleSinceMs = this.#clock.monotonicMs();
    instance.coolingDown = coolsDown;
    this.#setAttempt(instance, null);
    this.#capacityChanged();
    if (!coolsDown) return;
    this.#timers.after(COOLDOWN_MS, () => {
      instance.coolingDown = false;
      this.#updateAvailability(instance);
      this.#capacityChanged();
    });
  }

  /** Instances that can begin a task now: a live view, to be used synchronously. */
  get idle(): IdleInstances {
    return this.#index.idle;
  }

  /** Agents that are not drained, with an instance of this class that is up, idle or not. */
  agentsUp(instanceClass: InstanceClass): Iterable<string> {
    return this.#index.agentsUp(instanceClass);
  }

  /** All instances, by id. */
  list(): InstanceView[] {
    return [...this.#instances.values()]
      .map((instance) => this.#viewOf(instance))
      .sort(byId((view) => view.profile.id));
  }

  find(instanceId: string): InstanceView | undefined {
    const instance = this.#instances.get(instanceId);
    return instance && this.#viewOf(instance);
  }

  /** All agents, by id. */
  agents(): AgentView[] {
    return [...this.#agents.values()].map((agent) => this.#agentViewOf(agent)).sort(byId((view) => view.id));
  }

  findAgent(agentId: string): AgentView | undefined {
    const agent = this.#agents.get(agentId);
    return agent && this.#agentViewOf(agent);
  }

  /** The agent, if its state permits the transition; otherwise the refusal is logged. */
  #permitting(transition: AgentTransition, agentId: string): Agent | undefined {
    const agent = this.#agents.get(agentId);
    if (agent && canTransition<AgentState>(AGENT_TRANSITIONS[transition], agent.state)) return agent;
    this.#log.warn(
      { agentId, transition, state: agent?.state ?? '-' },
      'a transition that the agent does not permit was refused',
    );
    return undefined;
  }

  #add(agent: Agent, profile: InstanceProfile, status: InstanceStatus, startedAtMs: number | null): void {
    const former = this.#instances.get(profile.id);
    if (former) this.#remove(former);
    const instance: Instance = {
      profile,
      instanceClass: this.#index.add(profile),
      agent,
      agentId: agent.id,
      status,
      startedAtMs,
      attempt: null,
      idleSinceMs: this.#clock.monotonicMs(),
      coolingDown: false,
      availability: 'NONE',
    };
    agent.instances.set(profile.id, instance);
    this.#instances.set(profile.id, instance);
    this.#updateAvailability(instance);
  }

  /** Whether the agent held an instance that is missing here, or changed. */
  #dropsAny(agentId: string, reports: readonly InstanceReport[]): boolean {
    const held = this.#agents.get(agentId)?.instances.values() ?? [];
    const offered = new Set(reports.map((report) => JSON.stringify(profileOf(report))));
    return [...held].some(({ profile }) => !offered.has(JSON.stringify(profileOf(profile))));
  }

  #forgetInstances(agentId: string): void {
    for (const instance of [...(this.#agents.get(agentId)?.instances.values() ?? [])]) this.#remove(instance);
  }

  #remove(instance: Instance): void {
    const { id } = instance.profile;
    this.#setAttempt(instance, null);
    instance.agent.instances.delete(id);
    this.#instances.delete(id);
    this.#updateAvailability(instance);
    this.#index.remove(instance.instanceClass);
  }

  /** Sets the attempt that the instance runs. */
  #setAttempt(instance: Instance, attempt: AttemptRef | null): void {
    const change = Number(attempt !== null) - Number(instance.attempt !== null);
    if (change !== 0) this.#index.changeBusy(instance.agentId, change);
    instance.attempt = attempt;
    this.#updateAvailability(instance);
  }

  #capacityChanged(): void {
    for (const subscriber of this.#capacitySubscribers) subscriber();
  }

  /** Call it after every change that availability depends on. */
  #updateAvailability(instance: Instance): void {
    const { status, attempt } = instance;
    const isDrained = this.#drains.has(instance.agentId);
    this.#index.setAvailability(instance, isDrained ? 'NONE' : availabilityOf(instance));
    const state = countedState(status, attempt !== null, isDrained);
    this.#counts.set(instance, isKnown(instance) ? state : null);
  }

  #startedAt({ upForMs }: InstanceReport): number | null {
    return upForMs === null ? null : Math.round(this.#clock.nowMs() - upForMs);
  }

  #viewOf({ profile, agentId, status, startedAtMs, attempt }: Instance): InstanceView {
    const working = attempt !== null;
    return { profile, agentId, status, startedAtMs, working, drain: this.drainOf(agentId) };
  }

  #agentViewOf({
    id,
    version,
    revision,
    address,
    state,
    seenAtMs,
    clockOffsetMs,
    instances,
  }: Agent): AgentView {
    return {
      id,
      version,
      revision,
      address,
      status: state === 'DISCONNECTED' || state === 'LOST' ? 'DOWN' : 'UP',
      seenAtMs,
      clockOffsetMs,
      drain: this.drainOf(id),
      instances: [...instances.values()]
        .map((instance) => this.#viewOf(instance))
        .sort(byId((view) => view.profile.id)),
    };
  }
}

export function profileOf({ id, version, revision, labels }: InstanceProfile): InstanceProfile {
  return { id, version, revision, labels };
}

function availabilityOf(instance: Instance): Availability {
  const { agent, attempt, status, coolingDown } = instance;
  if (status !== 'UP' || !isKnown(instance)) return 'NONE';
  return agent.state === 'READY' && attempt === null && !coolingDown ? 'IDLE' : 'UP';
}

/** False once it has been removed. */
function isKnown(instance: Instance): boolean {
  return instance.agent.instances.get(instance.profile.id) === instance;
}

function byId<T>(id: (item: T) => string): (a: T, b: T) => number {
  return (a, b) => (id(a) < id(b) ? -1 : id(a) > id(b) ? 1 : 0);
}
