/** One run of the simulated world, from its seed to its outcome. */
import { HubError } from '@workbench-hub/hub/core/errors';
import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import { fits } from '@workbench-hub/shared/domain/matching';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { SimulatedBlobDisk } from './blob-disk.js';
import type { Breakage } from './breakages/breakage.js';
import { Clients } from './clients.js';
import { ClusterDelays } from './cluster-deadlines.js';
import { DatabaseLink } from './database/link.js';
import { DatabaseServer } from './database/server.js';
import { Delays } from './deadlines.js';
import { Drains } from './drains.js';
import { Faults } from './faults.js';
import { hubDrains } from './hub-drains.js';
import { Invariants } from './invariants.js';
import { Network } from './network.js';
import type { Process } from './process.js';
import { Receivers } from './receivers.js';
import { KEPT_LONG_MS, KEPT_SHORTLY_MS } from './settings.js';
import { SimulatedAgent } from './simulated-agent.js';
import { type HubDatabase, type SharedByHubs, SimulatedHub } from './simulated-hub.js';
import { SimulatedHubs } from './simulated-hubs.js';
import { StudyClients } from './studies/study-clients.js';
import { type Violation, World } from './world.js';
import { worldLog } from './world-log.js';

/** Place of the tasks: the hub's disk, or a database server. */
export type SimulatedStoreKind = 'DISK' | 'SERVER';

/** Number of hubs; SEVERAL: the seed decides, from 1 to 5. */
export type HubCount = number | 'SEVERAL';

export interface SimulateOptions {
  readonly seed: number;
  readonly breakage?: Breakage | undefined;
  /** That of the defect, or of the seed, when left out. */
  readonly store?: SimulatedStoreKind | undefined;
  /** Number of hubs on one database server, or SEVERAL for one that the seed decides. That of the defect, or one, when left out. */
  readonly hubs?: HubCount | undefined;
  /** Whether clients create studies, too; the world is another one then. */
  readonly hasStudies?: boolean;
  /** Called with each line of the trace. */
  readonly onTrace?: ((line: string) => void) | undefined;
}

export interface Outcome {
  readonly seed: number;
  readonly hasStudies: boolean;
  readonly steps: number;
  readonly simulatedMs: number;
  /** Number of tasks accepted with 201. */
  readonly tasks: number;
  readonly attempts: number;
  /** Number of points of studies accepted with 201. */
  readonly points: number;
  /** Number of bundles in which some of them ran. */
  readonly bundles: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly violations: readonly Violation[];
  /** Hash of the run, the same for the same seed. */
  readonly digest: string;
}

const VERSIONS = ['2024.1', '2025.1'];
const LABELS = ['gpu', 'large'];
/** Time without faults after which a task that has not ended never will. */
const PATIENCE_MS = 4 * 3_600_000;
/** The same for a webhook: its longest delay, and what the clock of the hub may have been set back since. */
const WEBHOOK_PATIENCE_MS = 7 * 3_600_000;
/** Observation time after the last end. */
const AFTERMATH_MS = 60_000;
const OPERATOR_EVERY_MS = 20_000;
/** In every eighth world one process serves all instances of an agent. */
const SHARING_WORLDS = 8;
/** In every fourth world the store is on a database server. */
const SERVER_WORLDS = 4;
const MAX_HUBS = 5;
const HOUR_MS = 3_600_000;
/** Number of violations at which a run stops. */
const ENOUGH_VIOLATIONS = 5;

export async function simulate(options: SimulateOptions): Promise<Outcome> {
  const { seed, breakage, onTrace } = options;
  const world = new World(seed, onTrace);
  const onUnhandled = (reason: unknown) => world.violated('no defect', `nobody catches ${String(reason)}`);
  process.on('unhandledRejection', onUnhandled);
  try {
    const simulation = new Simulation(world, seed, breakage, placeOf(options), options.hasStudies ?? false);
    await simulation.run();
    return {
      seed,
      hasStudies: options.hasStudies ?? false,
      steps: world.steps,
      simulatedMs: world.nowMs,
      tasks: simulation.invariants.acknowledged,
      attempts: simulation.invariants.attempts,
      points: simulation.points,
      bundles: simulation.bundles,
      faults: world.faults,
      violations: world.violations,
      digest: world.digest(),
    };
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
}

/** The store of a world, and its hubs; `null` for one hub that is alone. */
interface WorldPlace {
  readonly store: SimulatedStoreKind;
  readonly hubs: number | null;
}

function placeOf({ seed, breakage, store, hubs = breakage?.hubs }: SimulateOptions): WorldPlace {
  if (hubs === undefined) return { store: store ?? storeOf(seed, breakage), hubs: null };
  return { store: 'SERVER', hubs: hubs === 'SEVERAL' ? 1 + (seed % MAX_HUBS) : hubs };
}

function storeOf(seed: number, breakage: Breakage | undefined): SimulatedStoreKind {
  if (breakage) return breakage.store ?? 'DISK';
  return seed % SERVER_WORLDS === SERVER_WORLDS - 1 ? 'SERVER' : 'DISK';
}

class Simulation {
  readonly invariants: Invariants;
  readonly #world: World;
  readonly #network: Network;
  readonly #hubs: SimulatedHubs;
  readonly #agents: SimulatedAgent[] = [];
  /** Agents that never come back. */
  readonly #retired = new Set<SimulatedAgent>();
  /** Tasks that end by themselves even when their program hangs. */
  readonly #limited = new Set<string>();
  readonly #faults: Faults;
  readonly #clients: Clients;
  readonly #delays: Delays | ClusterDelays;
  readonly #drains: Drains;
  readonly #receivers: Receivers;
  readonly #studyClients: StudyClients | undefined;

  constructor(
    world: World,
    seed: number,
    breakage: Breakage | undefined,
    place: WorldPlace,
    hasStudies: boolean,
  ) {
    this.#world = world;
    this.#network = new Network(world, breakage?.wire);
    this.invariants = new Invariants(world, () => this.#agents);
    this.#hubs = this.#hubsOf(breakage, place, hasStudies);
    for (const hub of this.#hubs.all)
      hub.observer = this.invariants.observerOf(hub.name, place.hubs === null);
    const trouble = () => (world.happens(0.5) ? 0 : world.random.next() * 0.3);
    const rules = {
      mayHang: (taskId: string) => this.#limited.has(taskId),
      runsPoints: hasStudies,
      troubles: { crash: trouble(), hang: trouble(), fail: trouble(), deaf: trouble(), badStart: trouble() },
    };
    const sharesProcess = seed % SHARING_WORLDS === SHARING_WORLDS - 2;
    for (let number = world.between(1, 4); number > 0; number--) {
      const id = `agent-${this.#agents.length + 1}`;
      const instances = this.#instancesOf(id);
      const agent = new SimulatedAgent(id, instances, {
        world,
        network: this.#network,
        hubs: this.#hubs,
        addresses: this.#addresses(),
        rules,
        logFor: (process) => this.#logOf(process),
        breakage,
        sharesProcess,
        onAssigned: ({ ref, timeLimitMs }) => {
          if (timeLimitMs !== null) this.#limited.add(ref.taskId);
          this.invariants.assigned(ref);
        },
        onCancel: (ref) => this.invariants.canceled(ref),
        onSettled: (report, counted) => this.invariants.settled(report, counted),
      });
      this.#agents.push(agent);
    }
    const hubs = this.#hubs;
    this.#faults = new Faults(seed, { world, network: this.#network, hubs, agents: this.#agents });
    const { invariants } = this;
    this.#delays =
      place.hubs === null
        ? new Delays(world, hubs.first, invariants)
        : new ClusterDelays({ world, hubs, invariants, agents: this.#agents, network: this.#network });
    this.#drains = new Drains(seed, { world, hubs, agents: this.#agents, invariants });
    this.#receivers = new Receivers(seed, world, invariants);
    for (const hub of hubs.all) hub.receivers = this.#receivers;
    const requirements = requirementsOf(world);
    this.#clients = new Clients(world, hubs, invariants, requirements, this.#receivers);
    if (hasStudies) this.#studyClients = new StudyClients(world, hubs, requirements);
    this.#tellClientsOfLosses();
  }

  /** Points of studies of which clients were told. */
  get points(): number {
    return this.#studyClients?.points ?? 0;
  }

  get bundles(): number {
    return this.#studyClients?.bundles.size ?? 0;
  }

  #tellClientsOfLosses(): void {
    const { server } = this.#hubs;
    if (!server) return;
    const { onDurableLost } = server;
    server.onDurableLost = () => {
      onDurableLost();
      this.#clients.durableLost((name) => server.inputDigest(name));
    };
  }

  #hubsOf(breakage: Breakage | undefined, { store, hubs }: WorldPlace, hasStudies: boolean): SimulatedHubs {
    const world = this.#world;
    const options = {
      world,
      network: this.#network,
      logFor: (process: Process) => this.#logOf(process),
      breakage,
      hasStudies,
    };
    if (store === 'DISK') return new SimulatedHubs(world, [new SimulatedHub(options)]);
    const server = new DatabaseServer(world, worldLog(world, 'database'), breakage?.serverDefects);
    const database = (): HubDatabase => ({ server, link: new DatabaseLink(world, server) });
    if (hubs === null)
      return new SimulatedHubs(world, [new SimulatedHub({ ...options, database: database() })]);
    const shared: SharedByHubs = {
      keptForMs: world.random.of([KEPT_SHORTLY_MS, KEPT_LONG_MS]),
      drains: hubDrains(),
      blobs: new SimulatedBlobDisk(world),
    };
    const all = Array.from({ length: hubs }, (_, index) => {
      const name = `hub-${index + 1}`;
      const hub = new SimulatedHub({ ...options, database: database(), name, shared });
      hub.wallClock.offsetMs = world.between(-HOUR_MS, HOUR_MS);
      return hub;
    });
    const joined = new SimulatedHubs(world, all);
    joined.observe(server, this.invariants);
    return joined;
  }

  /** Addresses in the configuration of an agent: of some hubs, at least one. */
  #addresses(): string[] {
    const { all, areSeveral, any } = this.#hubs;
    if (!areSeveral) return all.map(({ address }) => address);
    const chosen = all.filter(() => this.#world.happens(0.6));
    return (chosen.length > 0 ? chosen : [any]).map(({ address }) => address);
  }

  async run(): Promise<void> {
    const world = this.#world;
    this.#startProcesses();
    const turbulentMs = world.between(60_000, 900_000);
    this.#beginTurbulence(turbulentMs);
    const giveUpAtMs = turbulentMs + (this.#receivers.happen ? WEBHOOK_PATIENCE_MS : PATIENCE_MS);
    await this.#runUntilOver(giveUpAtMs);
    // A fault that waited for its moment may have ended a hub just now.
    while (!this.#hubs.areReady && world.nowMs < giveUpAtMs && (await this.#step()));
    for (const { database } of this.#hubs.all) if (database) database.link.isAtRest = true;
    if (world.violations.length < ENOUGH_VIOLATIONS) {
      this.#receivers.check(this.#hubs.first.store.tasks());
      await this.invariants.finish(this.#hubs, this.#present, this.#clients.inputDigests);
      await this.#checkStudies();
    }
    this.#endProcesses();
  }

  async #checkStudies(): Promise<void> {
    const { engine } = this.#hubs.serving;
    if (!this.#studyClients || !engine) return;
    await this.#studyClients.check(engine.studies);
    await this.#studyClients.checkOutcomes();
  }

  /** Starts hubs and agents, now and whenever they have ended. */
  #startProcesses(): void {
    const world = this.#world;
    for (const hub of this.#hubs.all) {
      hub.onEnd = () => this.#startLater(() => this.#startHub(hub));
      hub.onReady = () => this.#clients.comeBack();
      this.#startHub(hub);
    }
    for (const agent of this.#agents) {
      agent.onEnd = () => this.#startLater(() => this.#retired.has(agent) || agent.start());
      world.after(world.between(0, 3000), () => agent.start());
    }
  }

  /** Begins the load, and faults that are over after this time. */
  #beginTurbulence(turbulentMs: number): void {
    const world = this.#world;
    this.#clients.start(world.between(3, 40), turbulentMs);
    this.#studyClients?.start(turbulentMs);
    this.#faults.start();
    this.#delays.start();
    this.#drains.start();
    if (this.#agents.length > 1 && world.happens(0.3)) {
      world.after(world.between(0, turbulentMs), () => this.#retire(world.random.of(this.#agents)));
    }
    world.after(turbulentMs, () => this.#calm());
  }

  /** Runs the world until all has been over for a while, or there is no event left, or it is time to give up. */
  async #runUntilOver(giveUpAtMs: number): Promise<void> {
    const world = this.#world;
    let overAtMs: number | undefined;
    while (world.nowMs < Math.min(giveUpAtMs, (overAtMs ?? giveUpAtMs) + AFTERMATH_MS)) {
      if (world.violations.length >= ENOUGH_VIOLATIONS || !(await this.#step())) break;
      // A create that was under way may add a task after all others have ended.
      if (world.turbulent || world.steps % 50 !== 0) continue;
      const isOver = this.#isOver();
      if (isOver && overAtMs === undefined) this.invariants.beginAftermath(this.#hubs);
      overAtMs = isOver ? (overAtMs ?? world.nowMs) : undefined;
    }
  }

  /** Ends hubs and agents, which are not started again. */
  #endProcesses(): void {
    for (const hub of this.#hubs.all) hub.onEnd = () => undefined;
    for (const agent of this.#agents) {
      agent.onEnd = () => undefined;
      agent.kill();
    }
    this.#hubs.kill();
  }

  /** Runs the next event, and looks at what it did; false when there is none. */
  async #step(): Promise<boolean> {
    if (!(await this.#world.step())) return false;
    const tasks = this.#hubs.changes();
    if (tasks) this.invariants.look(tasks);
    return true;
  }

  #startHub(hub: SimulatedHub): void {
    hub.start().catch((error: unknown) => {
      // The service manager restarts a hub that cannot reach its database.
      if (hub.database && error instanceof HubError) return hub.kill();
      this.#world.violated('no defect', `the hub does not start: ${String(error)}`);
    });
  }

  /** Restarts a process like a service manager, or like a person who switches the machine on. */
  #startLater(start: () => void): void {
    const world = this.#world;
    const isLong = world.turbulent && world.happens(0.1);
    world.after(isLong ? world.between(10_000, 200_000) : world.between(50, 5000), start);
  }

  /** Removes an agent for good. */
  #retire(agent: SimulatedAgent): void {
    this.#world.fault('agent gone for good', agent.id);
    this.#retired.add(agent);
    for (const connection of this.#network.of(agent.id)) connection.losePower();
    agent.kill();
  }

  /** Ends all faults. */
  #calm(): void {
    const world = this.#world;
    world.turbulent = false;
    world.tell('world', 'all faults are over');
    this.#faults.mendAll();
    this.#operate();
  }

  /** Acts as an operator who starts stopped instances and undrains agents, and as clients who cancel tasks that fit no instance. Instances in a
   *  crash loop recover by themselves. */
  #operate(): void {
    const world = this.#world;
    for (const { shutdown } of this.#hubs.engines) void shutdown.change(false).catch(() => undefined);
    this.#drains.undrainAll();
    const profiles = this.#present.flatMap(({ instances }) => instances);
    for (const { profile, status } of this.#hubs.serving.engine?.instances.list() ?? []) {
      if (status !== 'DOWN') continue;
      this.#hubs.request(
        ({ control }) => control.command(profile.id, 'start', { user: null }),
        () => undefined,
      );
    }
    for (const { id, requirement } of this.invariants.waiting) {
      const asked = requirementOfKey(requirement);
      if (!profiles.some((profile) => fits(asked, profile))) this.#clients.cancelForSure(id);
    }
    world.after(OPERATOR_EVERY_MS, () => this.#operate());
  }

  get #present(): SimulatedAgent[] {
    return this.#agents.filter((agent) => !this.#retired.has(agent));
  }

  #isOver(): boolean {
    if (!this.invariants.allEnded || !this.#hubs.areReady || this.#studyClients?.areOver === false)
      return false;
    if (this.#receivers.untold(this.#hubs.first.store.tasks()).length > 0) return false;
    return this.#present.every(({ alive, held }) => alive && held === 0);
  }

  #instancesOf(agentId: string): InstanceProfile[] {
    const world = this.#world;
    return Array.from({ length: world.between(1, 3) }, (_, index) => ({
      id: `${agentId.replace('agent', 'sim')}-${index + 1}`,
      version: world.random.of(VERSIONS),
      revision: '1',
      labels: LABELS.filter(() => world.happens(0.4)),
    }));
  }

  #logOf(process: Process): Logger {
    return worldLog(this.#world, process.name);
  }
}

/** Classifiers of the tasks of this world. */
function requirementsOf(world: World): Classifier[][] {
  const all: Classifier[][] = [
    [],
    [{ type: 'VERSION', value: '2025.1' }],
    [{ type: 'VERSION', value: '2024.*' }],
    [{ type: 'LABLES', value: 'gpu' }],
    [{ type: 'LABLES', value: 'gpu,large' }],
    [{ type: 'LABLES', value: 'quantum' }],
  ];
  const chosen = all.filter(() => world.happens(0.6));
  return chosen.length > 0 ? chosen : [[]];
}
