/**
 * A world of hosts that come and go: a hub, or two on one database, whose hosts are jobs of simulated workload managers. Hubs, agents and hosts are
 * killed, jobs are preempted, put back and forgotten, workload managers are away, slow, and lose answers, clocks are set, administrators pause and
 * drain. Afterwards every task has ended, no host is left, and at no time was there one too many, or a task where its time could not suffice.
 */
import type { HostRecipe } from '@workbench-hub/hub/core/hosts/host-recipe';
import type { WorkloadManager } from '@workbench-hub/hub/core/ports/workload-manager';
import type { TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import { fits } from '@workbench-hub/shared/domain/matching';
import type { Assignment } from '@workbench-hub/shared/joining/ports/hub';
import type { Breakage } from '../breakages/breakage.js';
import { Network } from '../network.js';
import { KEPT_LONG_MS, LEASE_MS } from '../settings.js';
import { SimulatedAgent } from '../simulated-agent.js';
import type { SimulatedHub } from '../simulated-hub.js';
import type { SimulatedHubs } from '../simulated-hubs.js';
import { ENDED } from '../task-states.js';
import type { Violation, World } from '../world.js';
import { beginFaults, hubsOf, inNewWorld, prepareShutdown, startHub, startLater } from '../world-frame.js';
import { worldLog } from '../world-log.js';
import { SimulatedManager } from './simulated-manager.js';

export interface HostsOutcome {
  readonly seed: number;
  readonly tasks: number;
  /** Number of jobs that were handed in. */
  readonly jobs: number;
  readonly steps: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly violations: readonly Violation[];
  readonly digest: string;
}

/** Defect that is planted to see whether the world finds it. */
export interface HostsBreakage {
  readonly name: string;
  /** The first seed that is tried: one soon after it finds the defect; 1 by default. */
  readonly fromSeed?: number;
  /** Changes the workload managers as the hub sees them. */
  readonly manager?: (manager: WorkloadManager, world: World) => WorkloadManager;
  /** Replaces ports of the hub. */
  readonly hub?: Breakage['hub'];
}

export interface HostsOptions {
  readonly seed: number;
  readonly breakage?: HostsBreakage | undefined;
  readonly onTrace?: ((line: string) => void) | undefined;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Time without faults after which a task that has not ended never will. */
const PATIENCE_MS = 2 * HOUR_MS;
/** Time from the end of the last task, beyond the idle time, in which the last host goes. */
const GONE_MS = 3 * MINUTE_MS;
/** In every third world the store is on a database server, and in every other of these there are two hubs. */
const SERVER_WORLDS = 3;
/** In every other world nothing counts against a task: agents are not killed, and programs do not fail. */
const GENTLE_WORLDS = 2;
/** Time before its end at which an agent stops by itself. */
const STOP_BEFORE_MS = 60_000;
/** Time by which what the hub knows of a host may be old. */
const KNOWLEDGE_MS = 15_000;
/** Time without trouble after which the hub knows the ends of hosts. */
const INFORMED_MS = 40_000;
/** Time for which a wish for a host may be older than the task that is waiting no more. */
const WISH_MS = MINUTE_MS;
/** Time in which a job whose cancel was forgotten is canceled again, and killed. */
const CANCELED_AGAIN_MS = 90_000;
const ENOUGH_VIOLATIONS = 5;
const SPECIAL = 'special';

export function simulateHosts({ breakage, ...options }: HostsOptions): Promise<HostsOutcome> {
  return inNewWorld(options, (world) => new HostsWorld(world, options.seed, breakage).run());
}

/** A recipe with its workload manager, and what was seen of it. */
interface Site {
  readonly recipe: HostRecipe;
  readonly manager: SimulatedManager;
  /** Waiting tasks that fit, at recent times. */
  readonly waiting: { readonly atMs: number; readonly count: number }[];
}

class HostsWorld {
  readonly #world: World;
  readonly #seed: number;
  readonly #network: Network;
  readonly #breakage: HostsBreakage | undefined;
  readonly #sites: readonly Site[];
  readonly #hubs: SimulatedHubs;
  readonly #isGentle: boolean;
  readonly #created: string[] = [];
  /** Tasks that were seen to have ended; they may be gone now. */
  readonly #ended = new Map<string, TaskState>();
  /** Number of losses that were seen, by task. */
  readonly #losses = new Map<string, number>();
  /** Names of jobs that were handed in. */
  readonly #jobs = new Set<string>();
  readonly #agents = new Map<string, SimulatedAgent>();
  /** Latest time of a fault by which the hub may know less than it should. */
  #troubleAtMs = Number.NEGATIVE_INFINITY;
  /** Time since which all tasks have ended, and the faults are over. */
  #endedAtMs: number | undefined;

  constructor(world: World, seed: number, breakage: HostsBreakage | undefined) {
    this.#world = world;
    this.#seed = seed;
    this.#breakage = breakage;
    this.#network = new Network(world);
    this.#isGentle = seed % GENTLE_WORLDS === 0;
    this.#sites = (world.happens(0.5) ? ['gears'] : ['gears', 'belts']).map((name) => this.#siteOf(name));
    this.#hubs = this.#openHubs();
  }

  async run(): Promise<HostsOutcome> {
    const world = this.#world;
    for (const hub of this.#hubs.all) this.#runHub(hub);
    const isBusy = world.happens(0.3);
    const turbulentMs = (isBusy ? world.between(12, 25) : world.between(2, 15)) * MINUTE_MS;
    this.#handIn(isBusy ? world.between(60, 150) : world.between(3, 40), turbulentMs);
    beginFaults(world, () => this.#fault());
    world.after(turbulentMs, () => this.#calm());
    const giveUpAtMs = turbulentMs + PATIENCE_MS;
    while (world.nowMs < giveUpAtMs && !this.#isOver) {
      if (world.violations.length >= ENOUGH_VIOLATIONS || !(await world.step())) break;
      this.#look();
    }
    this.#checkEnd();
    this.#endProcesses();
    const { steps, faults, violations } = world;
    const digest = world.digest();
    const [tasks, jobs] = [this.#created.length, this.#jobs.size];
    return { seed: this.#seed, tasks, jobs, steps, faults, violations, digest };
  }

  // ---- the hubs, the workload managers and the agents

  #siteOf(name: string): Site {
    const world = this.#world;
    const count = world.between(1, 2);
    const ids = Array.from({ length: count }, (_, at) => `${name}-${at + 1}`);
    const wallTimeMs = world.between(6, 12) * MINUTE_MS;
    const allocations = world.between(1, 4);
    const labels = name === 'belts' ? [SPECIAL] : [];
    const recipe: HostRecipe = {
      ...{ name, manager: 'slurm', managerKey: world.happens(0.5) ? 'slurm' : name, wallTimeMs },
      instances: [{ instanceClass: { version: '1', labels, runs: undefined }, count, ids }],
      limits: {
        allocations,
        queued: world.between(1, allocations),
        hostHoursPerDay: null,
      },
      idleMs: world.between(5, 60) * 1000,
      joinWithinMs: MINUTE_MS,
      drainBeforeMs: world.between(60, 120) * 1000,
    };
    const manager = new SimulatedManager(world, {
      ...{ name: `${name}-manager`, hosts: world.between(1, 4), wallTimeMs },
      badStarts: this.#isGentle ? 0 : 0.1,
      newAgent: (id) => this.#agentOf(id, recipe),
      onSubmit: (id) => this.#onSubmit(id),
    });
    return { recipe, manager, waiting: [] };
  }

  #openHubs(): SimulatedHubs {
    const world = this.#world;
    const isOnServer = this.#seed % SERVER_WORLDS === 0;
    const areTwo = Math.floor(this.#seed / SERVER_WORLDS) % 2 === 1;
    return hubsOf({
      ...{ world, network: this.#network, name: 'hub', breakage: this.#breakage },
      store: isOnServer ? (areTwo ? 'SHARED SERVER' : 'SERVER') : 'DISK',
      keptForMs: () => KEPT_LONG_MS,
      hostRecipesOf: (process) =>
        this.#sites.map(({ recipe, manager }) => {
          const port = manager.portFor(process);
          return { recipe, manager: this.#breakage?.manager?.(port, world) ?? port };
        }),
    });
  }

  #agentOf(id: string, { instances }: HostRecipe): SimulatedAgent {
    const world = this.#world;
    const trouble = () => (this.#isGentle || world.happens(0.7) ? 0 : world.random.next() * 0.2);
    const profiles = instances.flatMap(({ instanceClass: { version, labels }, ids }) =>
      ids.map((each) => ({ id: `${id}-${each}`, version, revision: '1', labels })),
    );
    const agent = new SimulatedAgent(id, profiles, {
      world,
      network: this.#network,
      hubs: this.#hubs,
      addresses: this.#hubs.all.map(({ address }) => address),
      rules: {
        mayHang: () => false,
        troubles: { crash: trouble(), hang: 0, fail: trouble(), deaf: 0, badStart: trouble() },
      },
      logFor: (process) => worldLog(world, process.name),
      breakage: undefined,
      onAssigned: (assignment) => this.#onAssigned(id, assignment),
      onCancel: () => undefined,
      onSettled: () => undefined,
    });
    this.#agents.set(id, agent);
    return agent;
  }

  #runHub(hub: SimulatedHub): void {
    const world = this.#world;
    const start = () => void startHub(hub, world);
    hub.onEnd = () => {
      this.#troubled();
      startLater(world, start);
    };
    hub.onReady = () => this.#troubled();
    start();
  }

  #endProcesses(): void {
    for (const hub of this.#hubs.all) hub.onEnd = () => undefined;
    for (const agent of this.#agents.values()) {
      agent.onEnd = () => undefined;
      agent.kill();
    }
    this.#hubs.kill();
  }

  // ---- load

  #handIn(tasks: number, withinMs: number): void {
    const world = this.#world;
    for (let count = 0; count < tasks; count++) {
      const atMs = world.happens(0.4) ? world.between(1, 5) * 1000 : world.between(0, withinMs);
      world.after(atMs, () => this.#create());
    }
  }

  #create(): void {
    const world = this.#world;
    const timeLimitS = world.random.of([null, 60, 120, 200]);
    const durationS = world.happens(0.2) ? world.between(20, 55) : world.between(0, 10);
    const isSpecial = this.#sites.length > 1 && world.happens(0.4);
    const classifiers = isSpecial ? [{ type: 'LABLES' as const, value: SPECIAL }] : [];
    const job = { type: 'SIMULATE_WORK' as const, durationS };
    this.#hubs.request(
      ({ tasks }) => tasks.create({ name: null, creator: null, classifiers, timeLimitS, job }),
      ({ id }) => {
        world.tell('client', `hub has accepted ${id}`);
        this.#created.push(id);
      },
    );
  }

  // ---- observation

  get #tasks(): readonly TaskState[] {
    const { first } = this.#hubs;
    return first.store?.tasks() ?? [];
  }

  #troubled(): void {
    this.#troubleAtMs = this.#world.nowMs;
  }

  /** Whether the hub has known what it should since then. */
  #isInformedSince(atMs: number, { manager }: Site): boolean {
    return this.#troubleAtMs < atMs && manager.troubleAtMs < atMs && this.#hubs.troubleAtMs < atMs;
  }

  #look(): void {
    const world = this.#world;
    this.#noteTasks(this.#hubs.changes() ?? []);
    for (const site of this.#sites) {
      this.#checkBounds(site);
      this.#checkCancels(site);
    }
    if (world.steps % 20 !== 0 || world.turbulent) return;
    const areEnded = this.#hubs.areReady && this.#tasks.every(({ status }) => ENDED.has(status));
    this.#endedAtMs = areEnded ? (this.#endedAtMs ?? world.nowMs) : undefined;
  }

  #noteTasks(tasks: readonly TaskState[]): void {
    if (tasks.length === 0) return;
    for (const task of tasks) {
      if (ENDED.has(task.status)) this.#ended.set(task.id, task);
      if (task.losses > (this.#losses.get(task.id) ?? 0)) this.#checkLoss(task);
    }
    for (const site of this.#sites) this.#noteWaiting(site, tasks);
  }

  #noteWaiting({ recipe, waiting }: Site, tasks: readonly TaskState[]): void {
    const { nowMs } = this.#world;
    const count = tasks.filter(
      ({ status, requirement }) =>
        status === 'WAITING' &&
        recipe.instances.some(({ instanceClass }) => fits(requirementOfKey(requirement), instanceClass)),
    ).length;
    if (waiting.at(-1)?.count !== count) waiting.push({ atMs: nowMs, count });
    // The latest of before the time tells how many there were at its beginning.
    while (waiting.length > 1 && (waiting[1]?.atMs ?? nowMs) < nowMs - WISH_MS) waiting.shift();
  }

  /** A task is not lost with its host, as long as the hub can ask about the host. */
  #checkLoss({ id, losses, message }: TaskState): void {
    const world = this.#world;
    this.#losses.set(id, losses);
    const sinceMs = world.nowMs - LEASE_MS - INFORMED_MS;
    if (!this.#isGentle || !this.#sites.every((site) => this.#isInformedSince(sinceMs, site))) return;
    world.violated('the end of a host counts against no task', `${id}: loss ${losses}, ${message}`);
  }

  /** Never are there more allocations than permitted. */
  #checkBounds({ recipe, manager }: Site): void {
    const { wanted } = manager;
    if (wanted.length > recipe.limits.allocations)
      this.#world.violated(
        'the bounds of a recipe hold',
        `${wanted.join(', ')} of ${recipe.limits.allocations}`,
      );
  }

  /** A job is canceled again when the workload manager has forgotten its cancel. */
  #checkCancels(site: Site): void {
    const world = this.#world;
    const sinceMs = world.nowMs - CANCELED_AGAIN_MS;
    const [back] = site.manager.backBefore(sinceMs);
    if (back === undefined || !this.#isInformedSince(sinceMs, site)) return;
    world.violated('a cancel that was forgotten is repeated', `${back} is back for long`);
  }

  /** A host is asked for only when a task waits for which none is coming. */
  #onSubmit(name: string): void {
    const world = this.#world;
    const site = this.#sites.find(({ recipe }) => name.startsWith(`${recipe.name}-`));
    if (!site || this.#jobs.has(name)) return;
    this.#jobs.add(name);
    if (!this.#isInformedSince(world.nowMs - WISH_MS, site)) return;
    const { recipe, waiting } = site;
    const { coming } = site.manager;
    const instances = recipe.instances.reduce((sum, { count }) => sum + count, 0);
    const most = Math.max(0, ...waiting.map(({ count }) => count));
    if (coming * instances >= most)
      world.violated(
        'no host too many',
        `${name}: ${coming} hosts are coming, at most ${most} tasks have waited`,
      );
  }

  /** No task begins on a host whose end is known to be too near. */
  #onAssigned(name: string, { ref, timeLimitMs }: Assignment): void {
    const world = this.#world;
    const site = this.#sites.find(({ recipe }) => name.startsWith(`${recipe.name}-`));
    const job = site?.manager.running(name);
    if (!site || !job || timeLimitMs === null) return;
    if (!this.#isInformedSince(Math.max(job.startedAtMs, world.nowMs - INFORMED_MS), site)) return;
    const endMs = job.endsAtMs - STOP_BEFORE_MS;
    if (world.nowMs + timeLimitMs <= endMs + KNOWLEDGE_MS) return;
    const missingS = Math.round((world.nowMs + timeLimitMs - endMs) / 1000);
    world.violated('no task without time', `${ref.taskId} on ${name}: ${missingS} s too many`);
  }

  // ---- faults

  #fault(): void {
    const world = this.#world;
    const { manager, recipe } = world.random.of(this.#sites);
    const hub = this.#hubs.any;
    const faults: (readonly [kind: string, happen: () => (() => void) | undefined])[] = [
      ['manager away', () => this.#trouble(manager, 'isAway')],
      ['manager slow', () => this.#trouble(manager, 'isSlow')],
      ['answers lost', () => this.#trouble(manager, 'losesAnswers')],
      ['jobs refused', () => this.#trouble(manager, 'refuses')],
      ['hub killed', () => void hub.kill()],
      ['hub without power', () => void (hub.database ? hub.kill() : hub.losePower())],
      ['hub stopped', () => void hub.stop()],
      ['recipe paused', () => this.#pause(recipe.name)],
      ['recipe drained', () => this.#drain(recipe.name)],
      ['shutdown prepared', () => prepareShutdown(hub)],
      ['job stuck', () => void manager.stick()],
      ['job preempted', () => void manager.preempt()],
      ['job put back', () => void manager.putBack()],
      ...(this.#isGentle ? [] : this.#roughFaults(hub, manager)),
    ];
    const [kind, happen] = world.random.of(faults);
    world.fault(kind, hub.name);
    const mend = happen();
    const lastsMs = world.happens(0.3) ? world.between(1000, 240_000) : world.between(200, 20_000);
    if (mend) world.after(lastsMs, mend);
  }

  #roughFaults(hub: SimulatedHub, manager: SimulatedManager) {
    const faults: (readonly [kind: string, happen: () => (() => void) | undefined])[] = [
      ['host lost', () => void manager.loseHost()],
      ['jobs forgotten', () => this.#forget(manager)],
      ['cancel forgotten', () => void manager.forgetNextCancel()],
      ['clock set', () => this.#setClock(hub)],
      [
        'agent cut off',
        () => {
          const [id] = [...this.#agents].reverse().find(([, { alive }]) => alive) ?? [];
          if (id === undefined) return undefined;
          this.#network.cutOff(id);
          return () => this.#network.heal(id);
        },
      ],
      [
        'disk full',
        () => {
          if (hub.database) return undefined;
          hub.disk.refusal = 'SQLITE_FULL';
          this.#troubled();
          return () => {
            hub.disk.refusal = undefined;
            this.#troubled();
          };
        },
      ],
    ];
    return faults;
  }

  #trouble(manager: SimulatedManager, kind: 'isAway' | 'isSlow' | 'losesAnswers' | 'refuses'): () => void {
    manager[kind] = true;
    return () => {
      manager[kind] = false;
      manager.mended();
    };
  }

  #forget(manager: SimulatedManager): () => void {
    manager.forgetYoungest();
    return this.#trouble(manager, 'isAway');
  }

  #setClock(hub: SimulatedHub): undefined {
    hub.wallClock.offsetMs = this.#world.between(-HOUR_MS, HOUR_MS);
    this.#troubled();
    return undefined;
  }

  #pause(name: string): () => void {
    this.#ask(({ recipeViews }) => recipeViews.pause(name, 'admin'));
    return () => this.#ask(({ recipeViews }) => recipeViews.resume(name));
  }

  /** Hosts that are given back while they come count as coming, though others may come for them. */
  #drain(name: string): undefined {
    this.#troubled();
    return this.#ask(({ recipeViews }) => recipeViews.drain(name, 'admin'));
  }

  #ask(work: Parameters<SimulatedHubs['request']>[0]): undefined {
    this.#hubs.request(work, () => undefined);
    return undefined;
  }

  #calm(): void {
    const world = this.#world;
    world.turbulent = false;
    world.tell('world', 'all faults are over');
    for (const hub of this.#hubs.all) hub.disk.refusal = undefined;
    for (const id of this.#agents.keys()) this.#network.heal(id);
    for (const { manager } of this.#sites)
      for (const kind of ['isAway', 'isSlow', 'losesAnswers', 'refuses'] as const) manager[kind] = false;
    this.#operate();
  }

  /** Acts as an operator who ends preparations and pauses, and starts stopped instances. */
  #operate(): void {
    for (const { shutdown } of this.#hubs.engines) void shutdown.change(false).catch(() => undefined);
    for (const { recipe } of this.#sites) this.#ask(({ recipeViews }) => recipeViews.resume(recipe.name));
    for (const { profile, status } of this.#hubs.serving.engine?.instances.list() ?? [])
      if (status === 'DOWN') this.#ask(({ control }) => control.command(profile.id, 'start', { user: null }));
    this.#world.after(20_000, () => this.#operate());
  }

  // ---- ends

  get #idleMs(): number {
    return Math.max(...this.#sites.map(({ recipe }) => recipe.idleMs));
  }

  get #areGone(): boolean {
    return this.#sites.every(({ manager }) => manager.live.length === 0);
  }

  /** Whether all tasks have ended, and the hosts are gone or stay for too long. */
  get #isOver(): boolean {
    if (this.#endedAtMs === undefined) return false;
    return this.#areGone || this.#world.nowMs > this.#endedAtMs + this.#idleMs + GONE_MS;
  }

  #checkEnd(): void {
    const world = this.#world;
    const tasks = new Map(this.#tasks.map((task) => [task.id, task]));
    for (const id of this.#created) {
      const task = tasks.get(id) ?? this.#ended.get(id);
      if (!task) world.violated('nothing is lost', `${id} is gone`);
      else if (!ENDED.has(task.status)) world.violated('every task ends', `${id} is ${task.status}`);
    }
    for (const { manager } of this.#sites)
      if (manager.live.length > 0)
        world.violated('hosts go when there is nothing to do', `${manager.live.join(', ')} are left`);
  }
}
