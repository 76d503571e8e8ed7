/** The known agents and their instances, indexed for matching and counted for explanations. */
import type { Installation } from '@workbench-hub/shared/domain/installation';
import {
  type InstanceProfile,
  type InstanceStatus,
  type JobKind,
  kindKey,
  type LentState,
} from '@workbench-hub/shared/domain/instance';
import type { JoinedHub } from '@workbench-hub/shared/domain/joined-hub';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { AgentState } from '../../core/agent-states.js';
import type { LentHostEnd } from '../../core/hosts/lent-host.js';
import type { InstanceClass } from '../../core/idle-instances.js';
import type { AgentDrain } from '../../core/ports/agent-drains.js';
import { countedState } from '../../core/wait-reason.js';
import { InstanceCounts } from './instance-counts.js';
import { type Availability, type IndexedInstance, InstanceIndex } from './instance-index.js';

export interface Agent {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  readonly address: string | null;
  /** Only of a hub that has joined as an agent. */
  readonly hub?: JoinedHub | undefined;
  state: Exclude<AgentState, '-'>;
  seenAtMs: number;
  readonly clockOffsetMs: number | null;
  /** Absent when no hub of this version or a later one has told it. */
  readonly installation?: Installation | undefined;
  /** By id; written by {@link KnownInstances} only. */
  readonly instances: Map<string, Instance>;
}

export interface Instance extends IndexedInstance {
  /** Both are changed by {@link KnownInstances.setRuns} only. */
  profile: InstanceProfile;
  instanceClass: InstanceClass;
  readonly agent: Agent;
  status: InstanceStatus;
  /** State of an instance that a joined hub lends; null for any other. */
  lent: LentState | null;
  /** Whether it is kept for the tasks of other hubs. */
  readonly isForOthers: boolean;
  /** Changed by {@link KnownInstances.setLentHost} only. */
  lentHost: LentHostEnd | null;
  startedAtMs: number | null;
  /** Attempt that it runs, or null. */
  attempt: AttemptRef | null;
  idleSinceMs: number;
  /** The instance takes no task for a while, since it returned one. */
  coolingDown: boolean;
}

/** Fields of a new instance. */
export type NewInstance = Pick<Instance, 'profile' | 'status' | 'startedAtMs' | 'idleSinceMs'> &
  Partial<Pick<Instance, 'lent' | 'lentHost'>>;

export class KnownInstances {
  readonly #agents = new Map<string, Agent>();
  readonly #instances = new Map<string, Instance>();
  readonly #index = new InstanceIndex();
  readonly #counts = new InstanceCounts();
  /** By agent, known or not. */
  #drains: ReadonlyMap<string, AgentDrain> = new Map();
  readonly #onChange: (instanceId: string) => void;
  readonly #isForOthers: (profile: InstanceProfile) => boolean;

  /** `onChange` is called when an instance is added or removed, or changes. `isForOthers`: whether an instance is kept for the tasks of
   *  other hubs. */
  constructor(onChange: (instanceId: string) => void, isForOthers: (profile: InstanceProfile) => boolean) {
    this.#onChange = onChange;
    this.#isForOthers = isForOthers;
  }

  get index(): Pick<InstanceIndex, 'agentsUp' | 'classes' | 'classesVersion' | 'idle' | 'lentHosts'> {
    return this.#index;
  }

  get counts(): Pick<InstanceCounts, 'classes' | 'version'> {
    return this.#counts;
  }

  get agents(): Iterable<Agent> {
    return this.#agents.values();
  }

  get instances(): Iterable<Instance> {
    return this.#instances.values();
  }

  /** Drained agents, known or not. */
  get drains(): ReadonlyMap<string, AgentDrain> {
    return this.#drains;
  }

  agent(agentId: string): Agent | undefined {
    return this.#agents.get(agentId);
  }

  instance(instanceId: string): Instance | undefined {
    return this.#instances.get(instanceId);
  }

  /** The instances of an agent; none of an unknown one. */
  instancesOf(agentId: string): Instance[] {
    return [...(this.#agents.get(agentId)?.instances.values() ?? [])];
  }

  /** Adds an agent without instances, in place of the one with the same id. */
  addAgent(agent: Omit<Agent, 'instances'>): Agent {
    this.removeAgent(agent.id);
    const added = { ...agent, instances: new Map<string, Instance>() };
    this.#agents.set(agent.id, added);
    return added;
  }

  /** Removes an agent with its instances. */
  removeAgent(agentId: string): void {
    for (const instance of this.instancesOf(agentId)) this.#remove(instance);
    this.#agents.delete(agentId);
  }

  /** Adds an instance, in place of the one with the same id. */
  add(agent: Agent, fields: NewInstance): void {
    const { profile, status, startedAtMs, idleSinceMs, lent = null, lentHost = null } = fields;
    const former = this.#instances.get(profile.id);
    if (former) this.#remove(former);
    // Named one by one: V8 would give each object that it makes by a spread a hidden class of its own here, of 300 bytes.
    const instance: Instance = {
      profile,
      status,
      lent,
      lentHost,
      isForOthers: this.#isForOthers(profile),
      startedAtMs,
      idleSinceMs,
      instanceClass: this.#index.add(profile),
      agent,
      agentId: agent.id,
      attempt: null,
      coolingDown: false,
      availability: 'NONE',
    };
    agent.instances.set(profile.id, instance);
    this.#instances.set(profile.id, instance);
    this.updateAvailability(instance);
  }

  /** Replaces the drained agents. Nothing begins on them from now on. Returns the differences. */
  setDrains(drains: readonly AgentDrain[]): Record<'drained' | 'undrained', AgentDrain[]> {
    const former = this.#drains;
    this.#drains = new Map(drains.map((drain) => [drain.agentId, drain]));
    const drained = drains.filter(({ agentId }) => !former.has(agentId));
    const undrained = [...former.values()].filter(({ agentId }) => !this.#drains.has(agentId));
    for (const { agentId } of [...drained, ...undrained]) {
      for (const instance of this.instancesOf(agentId)) this.updateAvailability(instance);
    }
    return { drained, undrained };
  }

  /** Sets the kind of jobs that the program of the instance runs. True when that changes its class. */
  setRuns(instance: Instance, runs: JobKind | undefined): boolean {
    const { profile, instanceClass } = instance;
    if (kindKey(profile.runs) === kindKey(runs)) return false;
    this.#index.setAvailability(instance, 'NONE');
    this.#counts.set(instance, null);
    const { id, version, revision, labels } = profile;
    instance.profile = { id, version, revision, labels, runs };
    // First, so that a class with one instance is not read as gone.
    instance.instanceClass = this.#index.add(instance.profile);
    this.#index.remove(instanceClass);
    this.updateAvailability(instance);
    return true;
  }

  /** Sets the host from which the instance is lent. Call {@link updateAvailability} after it. */
  setLentHost(instance: Instance, lentHost: LentHostEnd | null): void {
    if (!lentHost && !instance.lentHost) return;
    this.#index.setAvailability(instance, 'NONE');
    instance.lentHost = lentHost;
  }

  /** Sets the attempt that the instance runs. */
  setAttempt(instance: Instance, attempt: AttemptRef | null): void {
    const change = Number(attempt !== null) - Number(instance.attempt !== null);
    if (change !== 0) this.#index.changeBusy(instance.agentId, change);
    instance.attempt = attempt;
    this.updateAvailability(instance);
  }

  /** Call it after every change that availability depends on: status, cooldown, state of the agent. */
  updateAvailability(instance: Instance): void {
    const { status, attempt, isForOthers } = instance;
    const lent = isForOthers ? 'KEPT' : (instance.lent ?? undefined);
    const isDrained = this.#drains.has(instance.agentId);
    this.#index.setAvailability(instance, isDrained || isForOthers ? 'NONE' : availabilityOf(instance));
    const state = countedState({ status, working: attempt !== null || lent === 'IN_USE', lent }, isDrained);
    this.#counts.set(instance, isKnown(instance) ? state : null);
    this.#onChange(instance.profile.id);
  }

  /** Whether the instance can begin a task now, be it only one of another hub. */
  canBegin(instance: Instance): boolean {
    return !this.#drains.has(instance.agentId) && availabilityOf(instance) === 'IDLE';
  }

  #remove(instance: Instance): void {
    const { id } = instance.profile;
    this.setAttempt(instance, null);
    instance.agent.instances.delete(id);
    this.#instances.delete(id);
    this.updateAvailability(instance);
    this.#index.remove(instance.instanceClass);
  }
}

function availabilityOf(instance: Instance): Availability {
  const { agent, attempt, status, coolingDown, lent } = instance;
  if (status !== 'UP' || !isKnown(instance)) return 'NONE';
  const isOffered = lent === null || lent === 'OFFERED';
  return agent.state === 'READY' && attempt === null && !coolingDown && isOffered ? 'IDLE' : 'UP';
}

/** False once it has been removed. */
function isKnown(instance: Instance): boolean {
  return instance.agent.instances.get(instance.profile.id) === instance;
}
