/** Invariants that hold after every step. */
import type { ObservedStore, TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import { fits } from '@workbench-hub/shared/domain/matching';
import { type AttemptRef, attemptKey } from '@workbench-hub/shared/domain/task';
import { checkChange } from './change-invariants.js';
import { checkEnd } from './final-invariants.js';
import type { Process } from './process.js';
import { LEASE_MS, LIMITS } from './settings.js';
import type { SimulatedAgent } from './simulated-agent.js';
import type { SimulatedHubs } from './simulated-hubs.js';
import { ENDED, endOf, refOf, wordsOf } from './task-states.js';
import type { HubObserver } from './watched-ports.js';
import type { World } from './world.js';

/** Outcomes that, once counted, end the task. */
const ENDING: ReadonlySet<string> = new Set(['OK', 'ERROR', 'FAILED']);

/** Time after a crash of the server in which a hub may rely on a renewal that is lost. */
const LOST_RENEWALS_MS = 10_000;

export class Invariants {
  readonly #world: World;
  readonly #agents: () => readonly SimulatedAgent[];
  /** Tasks as the database has them. */
  #tasks = new Map<string, TaskState>();
  #store: ObservedStore | undefined;
  /** Tasks accepted with 201. */
  readonly #acknowledged = new Set<string>();
  /** Tasks that a client asked to remove. */
  readonly #removable = new Set<string>();
  /** Tasks that a client asked to cancel, and those that it asked to cancel also while they run. */
  readonly #cancelable = { waiting: new Set<string>(), running: new Set<string>() };
  /** The end that a client or an agent has learned, by task. */
  readonly #told = new Map<string, string>();
  /** Reports that counted and ended their task, by task. */
  readonly #counted = new Map<string, string>();
  /** Attempts that were acknowledged as counting and did not end their task. */
  readonly #cameToNothing = new Set<string>();
  /** Attempts with a file for the output storage that were acknowledged as counting. */
  readonly #stored = new Set<string>();
  /** Waiting tasks that each hub knows, with their last attempt. */
  readonly #known = new Map<string, Map<string, number>>();
  /** Hub that each joined agent has joined. */
  readonly #joined = new Map<string, string>();
  /** Time of the last contact with a disconnected agent, by its id. */
  readonly #awaySinceMs = new Map<string, number>();
  /** `<task>/<agent>`: exclusions that may be active. */
  readonly #exclusions = new Set<string>();
  /** Agents on which nothing may begin. */
  readonly #drained = new Set<string>();
  /** Attempts that were claimed for an agent that was drained before. */
  readonly #claimedTooLate = new Set<string>();
  /** Hubs that schedule, as each believes. */
  readonly #schedulers = new Map<string, Process>();
  /** Time at which the only hub, or the latest term, began. */
  #beganAtMs = 0;
  #gainedLast = '';
  #isOfCluster = false;
  #crashedAtMs = Number.NEGATIVE_INFINITY;
  /** Tasks of which acknowledged writes were lost, with a database server. */
  readonly #undone = new Set<string>();
  #attempts = 0;
  /** Digests of the blobs that were to be removed when the aftermath began. */
  #left: ReadonlySet<string> = new Set();
  /** Tasks that ended before this time of the hub's clock may have been removed. */
  #sweptBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(world: World, agents: () => readonly SimulatedAgent[]) {
    this.#world = world;
    this.#agents = agents;
  }

  /** Whether acknowledged writes to the task were lost, about which nothing is promised. */
  isUndone(taskId: string): boolean {
    return this.#undone.has(taskId);
  }

  get acknowledged(): number {
    return this.#acknowledged.size;
  }

  /** Number of attempts that have begun. */
  get attempts(): number {
    return this.#attempts;
  }

  get allEnded(): boolean {
    for (const { status } of this.#tasks.values()) if (!ENDED.has(status)) return false;
    return true;
  }

  /** Tasks that wait for an instance. */
  get waiting(): TaskState[] {
    return [...this.#tasks.values()].filter(({ status }) => status === 'WAITING');
  }

  get ended(): number {
    return [...this.#tasks.values()].filter(({ status }) => ENDED.has(status)).length;
  }

  // ---- events

  created(taskId: string): void {
    // Its response was under way when the server lost it.
    const isLost = this.#undone.size > 0 && !this.#store?.tasks().some(({ id }) => id === taskId);
    if (isLost) this.#undone.add(taskId);
    else this.#acknowledged.add(taskId);
  }

  mayBeRemoved(taskId: string): void {
    this.#removable.add(taskId);
  }

  mayBeCanceled(taskId: string, force: boolean): void {
    this.#cancelable.waiting.add(taskId);
    if (force) this.#cancelable.running.add(taskId);
  }

  /** A client has seen this end of the task. */
  tellsEnd({ id, status, endedAtMs }: { id: string; status: string; endedAtMs: number | null }): void {
    if (ENDED.has(status)) this.#mustStay(id, `${status} at ${endedAtMs}`, 'a client was told');
  }

  /** A client has seen that the task is canceled. */
  tellsCanceled(taskId: string): void {
    if (this.#undone.has(taskId)) return;
    const task = this.#tasks.get(taskId);
    if (!task && this.#removable.has(taskId)) return;
    if (task) this.#mustStay(taskId, endOf(task), 'a client was told');
    if (task?.status !== 'CANCELED')
      this.#violated('an end stays', `${taskId} was canceled and is ${task?.status}`);
  }

  settled(report: AttemptReport, counted: boolean): void {
    if (this.#undone.has(report.taskId)) return;
    if (counted && !ENDING.has(report.outcome)) this.#cameToNothing.add(attemptKey(report));
    const task = this.#store?.tasks().find(({ id }) => id === report.taskId);
    const isKept = ENDING.has(report.outcome) || task?.status === 'CANCELED';
    if (counted && isKept && report.storedFiles) this.#stored.add(attemptKey(report));
    if (!counted || !ENDING.has(report.outcome)) return;
    const ref = `attempt ${report.attempt} on ${report.instanceId}`;
    const before = this.#counted.get(report.taskId);
    if (before !== undefined)
      this.#violated('a result counts once', `${report.taskId}: ${before}, then ${ref}`);
    this.#counted.set(report.taskId, ref);
    if (!task) {
      if (!this.#removable.has(report.taskId))
        this.#violated('nothing is lost', `${report.taskId} counted, and is gone`);
      return;
    }
    if (!ENDED.has(task.status) || task.attempt !== report.attempt) {
      this.#violated(
        'acknowledged means kept',
        `${report.taskId} ${ref} counted, the task is ${task.status} ${task.attempt}`,
      );
    }
    this.#mustStay(report.taskId, endOf(task), 'an agent was told');
  }

  /** The hub has told an agent to cancel a running attempt. */
  canceled({ taskId, attempt, instanceId }: AttemptRef): void {
    const task = this.#tasks.get(taskId);
    if (task?.status !== 'RUNNING' || task.attempt !== attempt || task.instance_id !== instanceId) return;
    this.#violated(
      'what runs goes on',
      `${taskId} attempt ${attempt} on ${instanceId} is active, and was ended`,
    );
  }

  /** The observer of one hub, by its name. */
  observerOf(hub: string, isAlone: boolean): HubObserver {
    this.#isOfCluster = !isAlone;
    return {
      onStart: (store, lostPower) => this.#onStart(hub, isAlone, store, lostPower),
      onUnsyncedLost: (tasks) => this.onUnsyncedLost(tasks),
      onDurableLost: (tasks) => this.onDurableLost(tasks),
      onSwept: (endedBeforeMs) => {
        this.#sweptBeforeMs = Math.max(this.#sweptBeforeMs, endedBeforeMs);
      },
      onQueueKnown: (waiting) => {
        for (const { id, attempt } of waiting) this.#knownBy(hub).set(id, attempt);
      },
      onWithdrawn: (taskId) => void this.#knownBy(hub).delete(taskId),
      onClaim: (claims) => this.#onClaim(hub, claims),
      onGained: () => this.#onGained(hub),
      onScheduling: (process) => {
        if (this.#gainedLast === hub) this.#schedulers.set(hub, process);
      },
      onLost: () => void this.#schedulers.delete(hub),
      onGone: () => {
        if (!isAlone) this.#onGone(hub);
      },
      onJoin: (agentId) => {
        this.#awaySinceMs.delete(agentId);
        this.#joined.set(agentId, hub);
      },
      onLeave: (agentId) => this.#onLeave(hub, agentId),
      onReturned: (taskId, agentId) => void this.#exclusions.add(`${taskId}/${agentId}`),
    };
  }

  #onStart(hub: string, isAlone: boolean, store: ObservedStore, lostPower: boolean): void {
    this.#store = store;
    this.#known.delete(hub);
    this.#schedulers.delete(hub);
    if (isAlone) {
      this.#beganAtMs = this.#world.nowMs;
      this.#joined.clear();
      this.#awaySinceMs.clear();
    }
    // Unsynced changes may be undone; confirmed ones may not.
    if (lostPower) this.#tasks = new Map(store.tasks().map((task) => [task.id, task]));
    if (lostPower) this.#checkKept();
  }

  #onGone(hub: string): void {
    for (const [agentId, joined] of this.#joined) if (joined === hub) this.#onLeave(hub, agentId);
  }

  #onGained(hub: string): void {
    const { nowMs } = this.#world;
    this.#beganAtMs = nowMs;
    for (const [other, { alive, isHalted }] of this.#schedulers) {
      // A crash of the server may undo the latest renewal, and a halted hub learns of its loss when it goes on.
      if (other === hub || !alive || isHalted || nowMs - this.#crashedAtMs < LOST_RENEWALS_MS) continue;
      this.#violated('one hub schedules', `${hub} begins while ${other} does`);
    }
    this.#gainedLast = hub;
  }

  #onLeave(hub: string, agentId: string): void {
    const joined = this.#joined.get(agentId);
    // Hubs tell in no common order that an agent joined and left.
    if (joined !== hub && this.#isOfCluster) return;
    this.#joined.delete(agentId);
    this.#awaySinceMs.set(agentId, this.#world.nowMs);
  }

  #knownBy(hub: string): Map<string, number> {
    const known = this.#known.get(hub) ?? new Map<string, number>();
    this.#known.set(hub, known);
    return known;
  }

  onUnsyncedLost(tasks: readonly TaskState[]): void {
    this.#crashedAtMs = this.#world.nowMs;
    this.#waitUnknown(tasks);
    this.#tasks = new Map(tasks.map((task) => [task.id, task]));
    this.#checkKept();
  }

  /** The hub takes a task that waits again for a running or ended one, until it finds the loss. */
  #waitUnknown(tasks: readonly TaskState[]): void {
    for (const { id, status } of tasks) {
      if (status !== 'WAITING' || this.#tasks.get(id)?.status === 'WAITING') continue;
      for (const known of this.#known.values()) known.delete(id);
    }
  }

  /** Forgets what depends on acknowledged writes that are lost: the pages promise nothing about it. */
  onDurableLost(tasks: readonly TaskState[]): void {
    this.#waitUnknown(tasks);
    const left = new Map(tasks.map((task) => [task.id, task]));
    for (const id of new Set([...this.#tasks.keys(), ...left.keys()])) {
      const [before, after] = [this.#tasks.get(id), left.get(id)];
      if (!before || !after || wordsOf(before) !== wordsOf(after)) this.#undone.add(id);
    }
    this.#tasks = left;
    for (const id of this.#undone) {
      this.#acknowledged.delete(id);
      this.#told.delete(id);
      this.#counted.delete(id);
    }
    this.#cameToNothing.clear();
    // The name of a stored file may have come after the end of its task.
    this.#stored.clear();
  }

  /** The hub has confirmed that the agent is drained. */
  drained(agentId: string): void {
    this.#drained.add(agentId);
  }

  /** The agent is about to be undrained. */
  undrained(agentId: string): void {
    this.#drained.delete(agentId);
  }

  /** An attempt has reached its agent. */
  assigned(ref: AttemptRef): void {
    if (this.#claimedTooLate.has(attemptKey(ref)))
      this.#violated('nothing begins on a drained agent', `${ref.instanceId} gets ${ref.taskId}`);
  }

  /** Time of the last contact with the agent. */
  awaySinceMs(agentId: string): number {
    return Math.max(this.#awaySinceMs.get(agentId) ?? 0, this.#beganAtMs);
  }

  /** Whether the hub knows that the task waits, and may dispatch it to this agent. */
  mayBegin({ id, attempt }: TaskState, agentId: string, hub: string): boolean {
    return this.#knownBy(hub).get(id) === attempt && !this.isExcluded(id, agentId);
  }

  /** Whether this agent may be excluded from the task. */
  isExcluded(taskId: string, agentId: string): boolean {
    return this.#exclusions.has(`${taskId}/${agentId}`);
  }

  /** Checks claims: no task is claimed before one that precedes it, fits, and was not returned by this host, and none for a
   *  drained agent. */
  #onClaim(hub: string, claims: readonly { taskId: string; instanceId: string }[]): void {
    const known = this.#knownBy(hub);
    const waiting = (this.#store as ObservedStore).tasks().filter(({ status }) => status === 'WAITING');
    const byId = new Map(waiting.map((task) => [task.id, task]));
    const chosen = new Set(claims.map(({ taskId }) => taskId));
    for (const { taskId, instanceId } of claims) {
      const task = byId.get(taskId);
      const profile = this.#profile(instanceId);
      if (!task || !profile) continue;
      const agentId = this.#agents().find(({ instances }) => instances.includes(profile))?.id;
      if (agentId !== undefined && this.#drained.has(agentId))
        this.#violated('nothing begins on a drained agent', `${instanceId} is claimed for ${taskId}`);
      const better = waiting.find(
        (other) =>
          !chosen.has(other.id) &&
          !this.#exclusions.has(`${other.id}/${agentId}`) &&
          known.get(other.id) === other.attempt &&
          (other.priority < task.priority || (other.priority === task.priority && other.seq < task.seq)) &&
          fits(requirementOfKey(other.requirement), profile),
      );
      if (better) this.#violated('none is passed over', `${instanceId} gets ${taskId} before ${better.id}`);
    }
  }

  // ---- checks

  /** Checks the tasks of the database after a step. */
  look(tasks: readonly TaskState[]): void {
    const now = new Map(tasks.map((task) => [task.id, task]));
    for (const before of this.#tasks.values()) {
      const after = now.get(before.id);
      if (!after) this.#gone(before);
      else if (after !== before) this.#changed(before, after);
    }
    for (const task of tasks) {
      if (!this.#tasks.has(task.id) && (task.status !== 'WAITING' || task.attempt !== 0)) {
        this.#violated('one step at a time', `${task.id} begins as ${task.status}`);
      }
      if (task.crashes >= LIMITS.maxAttempts || task.losses >= LIMITS.maxLosses) {
        this.#violated(
          'attempts within limits',
          `${task.id}: ${task.crashes} crashes, ${task.losses} losses`,
        );
      }
    }
    this.#tasks = now;
    this.#checkKept();
  }

  /** Everything has ended. */
  beginAftermath({ server }: SimulatedHubs): void {
    const dropped = server?.model.rows<{ digest: string }>('SELECT digest FROM dropped_content') ?? [];
    this.#left = new Set(dropped.map(({ digest }) => digest));
  }

  /** Checks the end, after a long time without faults, with these agents present. */
  async finish(
    hubs: SimulatedHubs,
    agents: readonly SimulatedAgent[],
    inputDigests: readonly string[],
  ): Promise<void> {
    const tasks = this.#tasks.values();
    const isUndone = (taskId: string) => this.#undone.has(taskId);
    const left = this.#left;
    await checkEnd({
      world: this.#world,
      hubs,
      agents,
      tasks,
      inputDigests,
      left,
      stored: this.#stored,
      isUndone,
    });
  }

  #changed(before: TaskState, after: TaskState): void {
    const { id } = before;
    if (
      before.status !== after.status ||
      before.attempt !== after.attempt ||
      before.instance_id !== after.instance_id
    ) {
      this.#world.tell('store', `${id} ${wordsOf(before)} -> ${wordsOf(after)}`);
    }
    const isBegun = before.status === 'WAITING' && after.status === 'RUNNING';
    if (isBegun) this.#attempts++;
    if (isBegun && this.#drained.has(after.agent_id ?? ''))
      this.#claimedTooLate.add(attemptKey(refOf(after)));
    if (isBegun && this.#cameToNothing.has(attemptKey(refOf(after)))) {
      this.#violated('what came to nothing begins no more', `${id} begins attempt ${after.attempt} again`);
    }
    checkChange(this.#world, before, after, this.#isOfCluster);
    if (after.losses > before.losses) this.#checkLoss(before);
  }

  /** Checks that an attempt that an agent still holds is lost only after its lease. */
  #checkLoss({ id, attempt, agent_id: agentId, instance_id: instanceId }: TaskState): void {
    if (agentId === null || instanceId === null) return;
    const agent = this.#agents().find((other) => other.id === agentId);
    if (!agent?.holds({ taskId: id, attempt, instanceId })) return;
    const sinceMs = this.#joined.has(agentId) ? this.#world.nowMs : this.awaySinceMs(agentId);
    if (this.#world.nowMs - sinceMs >= LEASE_MS) return;
    this.#violated(
      'unreachable is not lost',
      `${id} attempt ${attempt} was taken from ${agentId}, away for ${this.#world.nowMs - sinceMs} ms`,
    );
  }

  #gone(task: TaskState): void {
    const { id, status, ended_at: endedAtMs } = task;
    if (ENDED.has(status) && endedAtMs !== null && endedAtMs < this.#sweptBeforeMs) this.#removable.add(id);
    if (this.#removable.has(id) && (ENDED.has(status) || this.#mayHaveEnded(task))) return;
    this.#violated('nothing is lost', `${id} was ${status} and is gone`);
  }

  /** Whether a client asked to cancel the task, or its end has been reported: it may end and be removed at one moment, when several commits wait for
   *  the same standby. */
  #mayHaveEnded({ id: taskId, status, attempt, instance_id: instanceId }: TaskState): boolean {
    if (!this.#isOfCluster) return false;
    if (status === 'WAITING') return this.#cancelable.waiting.has(taskId);
    if (status !== 'RUNNING' || instanceId === null) return false;
    if (this.#cancelable.running.has(taskId)) return true;
    const outcomes = this.#agents().map((agent) => agent.reportedOutcome({ taskId, attempt, instanceId }));
    return outcomes.some((outcome) => outcome !== undefined && ENDING.has(outcome));
  }

  #checkKept(): void {
    for (const id of this.#acknowledged) {
      if (this.#tasks.has(id) || this.#removable.has(id)) continue;
      this.#acknowledged.delete(id);
      this.#violated('nothing is lost', `${id} was acknowledged and is gone`);
    }
    for (const [id, told] of this.#told) {
      const task = this.#tasks.get(id);
      if (!task || endOf(task) === told) continue;
      this.#told.delete(id);
      this.#violated('an end stays', `${id} was told to be ${told}, and is ${endOf(task)}`);
    }
  }

  #mustStay(id: string, end: string, who: string): void {
    if (this.#undone.has(id)) return;
    const before = this.#told.get(id);
    if (before !== undefined && before !== end) {
      this.#violated('an end stays', `${id} was told to be ${before}, now ${who} ${end}`);
    }
    this.#told.set(id, end);
  }

  #profile(instanceId: string): InstanceProfile | undefined {
    for (const agent of this.#agents()) {
      const found = agent.instances.find(({ id }) => id === instanceId);
      if (found) return found;
    }
    return undefined;
  }

  #violated(invariant: string, what: string): void {
    this.#world.violated(invariant, what);
  }
}
