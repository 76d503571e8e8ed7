/** States that must not last while the hub runs and its disk accepts writes: due actions, and retries after a fault, must
 *  happen. */
import type { Engine } from '@workbench-hub/hub/engine/engine';
import type { TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import { fits } from '@workbench-hub/shared/domain/matching';
import type { Invariants } from './invariants.js';
import type { Process } from './process.js';
import { LEASE_MS } from './settings.js';
import type { SimulatedHub } from './simulated-hub.js';
import type { World } from './world.js';

const LOOK_EVERY_MS = 2000;
/** Longer than the delay of any retry after a fault, with its consequences. */
const PATIENCE_MS = 10_000;
/** Sweeps run each minute. */
const SWEPT_WITHIN_MS = 60_000 + PATIENCE_MS;

interface Rule {
  readonly invariant: string;
  /** Longest time of a found state, after it began and after the store last refused or delayed a write. */
  readonly limitMs: number;
  /** Descriptions of states that must not last, the same at every look. */
  find(engine: Engine, tasks: readonly TaskState[]): Iterable<string>;
}

export class Delays {
  readonly #world: World;
  readonly #hub: SimulatedHub;
  readonly #rules: readonly Rule[];
  /** Start of each state, by its description. */
  #lasting = new Map<string, number>();
  /** The process in which it was seen. */
  #process: Process | undefined;

  constructor(world: World, hub: SimulatedHub, invariants: Invariants) {
    this.#world = world;
    this.#hub = hub;
    this.#rules = [
      {
        invariant: 'no instance idles while a task that it may run waits',
        limitMs: PATIENCE_MS,
        find: idlingInstances(invariants),
      },
      { invariant: 'a lease ends', limitMs: LEASE_MS + PATIENCE_MS, find: heldByNobody(invariants) },
      { invariant: 'what is over its time goes', limitMs: SWEPT_WITHIN_MS, find: overdue(hub) },
    ];
  }

  /** Begins to look periodically. */
  start(): void {
    this.#world.after(LOOK_EVERY_MS, () => {
      this.#look();
      this.start();
    });
  }

  #look(): void {
    const { engine, store } = this.#hub;
    const { troubleAtMs } = this.#hub;
    // Each process starts with no states.
    const before = this.#process === this.#hub.process ? this.#lasting : new Map<string, number>();
    this.#process = this.#hub.process;
    this.#lasting = new Map();
    if (!engine || engine.shutdown.status.initiated) return;
    const { nowMs } = this.#world;
    const tasks = store.tasks();
    for (const { invariant, limitMs, find } of this.#rules) {
      for (const found of find(engine, tasks)) {
        const words = `${invariant}: ${found}`;
        const sinceMs = before.get(words) ?? nowMs;
        this.#lasting.set(words, sinceMs);
        if (nowMs - Math.max(sinceMs, troubleAtMs) <= limitMs) continue;
        this.#world.violated(invariant, `${found}, for ${Math.round(nowMs - sinceMs)} ms`);
        this.#lasting.delete(words);
      }
    }
  }
}

function idlingInstances(invariants: Invariants): Rule['find'] {
  return function* ({ instances }, tasks) {
    for (const { hosts } of instances.idle.values()) {
      for (const { agentId, instances: ofHost } of hosts) {
        for (const { profile } of ofHost) {
          const left = tasks.find(
            (task) =>
              task.status === 'WAITING' &&
              invariants.mayBegin(task, agentId, 'hub') &&
              fits(requirementOfKey(task.requirement), profile),
          );
          if (left) yield `${profile.id} is idle, and ${left.id} waits`;
        }
      }
    }
  };
}

function heldByNobody(invariants: Invariants): Rule['find'] {
  return function* ({ instances }, tasks) {
    for (const { id, status, attempt, agent_id: agentId } of tasks) {
      if (status !== 'RUNNING' || agentId === null || instances.isConnected(agentId)) continue;
      // A lease begins each time the agent disconnects.
      yield `${id} attempt ${attempt} is with ${agentId}, away since ${invariants.awaySinceMs(agentId)}`;
    }
  };
}

/** After a change of its clock, a hub may keep everything for an hour more (decision 0035): such worlds do not count. */
function overdue(hub: SimulatedHub): Rule['find'] {
  const firstOffsetMs = hub.wallClock.offsetMs;
  return function* (_engine, tasks) {
    if (hub.wallClock.offsetMs !== firstOffsetMs) return;
    const sinceMs = hub.process.runtime.clock.nowMs() - hub.keptForMs;
    for (const { id, ended_at: endedAtMs } of tasks) {
      if (endedAtMs !== null && endedAtMs < sinceMs) yield `${id} is kept though its time is over`;
    }
  };
}
