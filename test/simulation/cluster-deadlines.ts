/** States that must not last among several hubs while all of them can work: what signals bring late, or do not bring at all, is made
 *  up for from the rows. */
import type { TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import type { JobKind } from '@workbench-hub/shared/domain/instance';
import { fits } from '@workbench-hub/shared/domain/matching';
import { CutOffHubs } from './cut-off-hubs.js';
import type { InstanceRow } from './database/cluster-tables.js';
import type { Invariants } from './invariants.js';
import type { Network } from './network.js';
import { LEASE_MS } from './settings.js';
import type { SimulatedAgent } from './simulated-agent.js';
import type { SimulatedHubs } from './simulated-hubs.js';
import { refOf } from './task-states.js';
import type { World } from './world.js';

const LOOK_EVERY_MS = 2000;
/** Longer than the delay of any retry after a fault, with its consequences. */
const PATIENCE_MS = 10_000;
/** Time until the next hub has the scheduler's role. */
const TAKEOVER_MS = 6000;
/** Two resyncs, after which lost signals are made up for. */
const RESYNCS_MS = 20_000;
/** Time after which a hub that renews its row no more is gone. */
const LAPSE_MS = 15_000;
const LIMIT_MS = PATIENCE_MS + TAKEOVER_MS + RESYNCS_MS;

export interface ClusterDelaysOptions {
  readonly world: World;
  readonly hubs: SimulatedHubs;
  readonly invariants: Invariants;
  readonly agents: readonly SimulatedAgent[];
  readonly network: Network;
}

interface Rule {
  readonly invariant: string;
  readonly limitMs: number;
  find(tasks: readonly TaskState[]): Iterable<string>;
}

export class ClusterDelays {
  readonly #options: ClusterDelaysOptions;
  readonly #cutOffHubs: CutOffHubs;
  /** Start of each state, by its description. */
  #lasting = new Map<string, number>();
  readonly #rules: readonly Rule[] = [
    {
      invariant: 'no instance idles while a task that it may run waits',
      limitMs: LIMIT_MS,
      find: (tasks) => this.#idling(tasks),
    },
    {
      invariant: 'a lease ends',
      limitMs: LEASE_MS + LAPSE_MS + LIMIT_MS,
      find: (tasks) => this.#heldByNobody(tasks),
    },
    {
      invariant: 'an assignment reaches its agent',
      limitMs: LIMIT_MS + RESYNCS_MS,
      find: (tasks) => this.#unknownToAgents(tasks),
    },
  ];

  constructor(options: ClusterDelaysOptions) {
    this.#options = options;
    this.#cutOffHubs = new CutOffHubs(options);
  }

  /** Begins to look periodically. */
  start(): void {
    this.#options.world.after(LOOK_EVERY_MS, () => {
      this.#look();
      this.#cutOffHubs.look();
      this.start();
    });
  }

  #look(): void {
    const { world, hubs } = this.#options;
    const { troubleAtMs } = hubs;
    const before = this.#lasting;
    this.#lasting = new Map();
    const tasks = hubs.server?.model.tasks() ?? [];
    for (const { invariant, limitMs, find } of this.#rules) {
      for (const found of find(tasks)) {
        const words = `${invariant}: ${found}`;
        const sinceMs = before.get(words) ?? world.nowMs;
        this.#lasting.set(words, sinceMs);
        if (world.nowMs - Math.max(sinceMs, troubleAtMs) <= limitMs) continue;
        world.violated(invariant, `${found}, for ${Math.round(world.nowMs - sinceMs)} ms`);
        this.#lasting.delete(words);
      }
    }
  }

  /** Whether nothing is given out: the only hub is prepared for a shutdown. */
  get #isPaused(): boolean {
    const { areSeveral, engines } = this.#options.hubs;
    return !areSeveral && engines.some(({ shutdown }) => shutdown.status.initiated);
  }

  /** Instances of connected agents that are up, not drained, and run nothing. */
  #idleInstances(tasks: readonly TaskState[]): InstanceRow[] {
    const { hubs } = this.#options;
    const cluster = hubs.server?.cluster;
    if (!cluster) return [];
    const busy = new Set(
      tasks.flatMap(({ status, instance_id: id }) => (status === 'RUNNING' && id !== null ? [id] : [])),
    );
    return [...cluster.instances.values()].filter((row) => {
      const agent = cluster.agents.get(row.agentId);
      const isUp = row.status === 'UP' && agent?.hubId != null && agent.epoch === row.epoch;
      const isDrained = hubs.engines.some(({ instances }) => instances.drainOf(row.agentId));
      return isUp && !isDrained && !busy.has(row.id);
    });
  }

  *#idling(tasks: readonly TaskState[]): Iterable<string> {
    const { invariants } = this.#options;
    if (this.#isPaused) return;
    for (const { id, agentId, version, revision, labels, runs } of this.#idleInstances(tasks)) {
      const kind = runs === null ? undefined : (JSON.parse(runs) as JobKind);
      const profile = { id, version, revision, labels: JSON.parse(labels) as string[], runs: kind };
      const left = tasks.find(
        (task) =>
          task.status === 'WAITING' &&
          !invariants.isExcluded(task.id, agentId) &&
          fits(requirementOfKey(task.requirement), profile),
      );
      if (left) yield `${id} is idle, and ${left.id} waits`;
    }
  }

  *#heldByNobody(tasks: readonly TaskState[]): Iterable<string> {
    const { hubs, invariants } = this.#options;
    for (const { id, status, attempt, agent_id: agentId } of tasks) {
      if (status !== 'RUNNING' || agentId === null) continue;
      if (hubs.server?.cluster.agents.get(agentId)?.hubId != null) continue;
      yield `${id} attempt ${attempt} is with ${agentId}, away since ${invariants.awaySinceMs(agentId)}`;
    }
  }

  /** Running attempts that their agents do not have, though they are connected. */
  *#unknownToAgents(tasks: readonly TaskState[]): Iterable<string> {
    const { hubs, agents } = this.#options;
    for (const task of tasks) {
      if (task.status !== 'RUNNING') continue;
      const row = hubs.server?.cluster.agents.get(task.agent_id ?? '');
      const agent = agents.find(({ id }) => id === task.agent_id);
      if (row?.hubId == null || !agent?.alive || agent.holds(refOf(task))) continue;
      yield `${task.id} attempt ${task.attempt} runs at ${agent.id}, epoch ${row.epoch}, which does not have it`;
    }
  }
}
