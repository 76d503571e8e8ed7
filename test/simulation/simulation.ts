/** One run of the simulated world, from its seed to its outcome. */
import { HubError } from '@workbench-hub/hub/core/errors';
import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import { fits } from '@workbench-hub/shared/domain/matching';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Breakage } from './breakages/breakage.js';
import { Clients } from './clients.js';
import { DatabaseLink } from './database/link.js';
import { DatabaseServer } from './database/server.js';
import { Delays } from './deadlines.js';
import { Drains } from './drains.js';
import { Faults } from './faults.js';
import { Invariants } from './invariants.js';
import { Network } from './network.js';
import type { Process } from './process.js';
import { Receivers } from './receivers.js';
import { SimulatedAgent } from './simulated-agent.js';
import { type HubDatabase, SimulatedHub } from './simulated-hub.js';
import { type Violation, World } from './world.js';

/** Place of the tasks: the hub's disk, or a database server. */
export type SimulatedStoreKind = 'DISK' | 'SERVER';

export interface SimulateOptions {
  readonly seed: number;
  readonly breakage?: Breakage | undefined;
  /** That of the defect, or of the seed, when left out. */
  readonly store?: SimulatedStoreKind | undefined;
  /** Called with each line of the trace. */
  readonly onTrace?: ((line: string) => void) | undefined;
}

export interface Outcome {
  readonly seed: number;
  readonly steps: number;
  readonly simulatedMs: number;
  /** Number of tasks accepted with 201. */
  readonly tasks: number;
  readonly attempts: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly violations: readonly Violation[];
  /** Hash of the run, the same for the same seed. */
  readonly digest: string;
}

const VERSIONS = ['2024.1', '2025.1'];
const LABELS = ['gpu', 'large'];
/** Time without faults after which a task that has not ended never will. */
const PATIENCE_MS = 4 * 3_600_000;
/** Observation time after the last end. */
const AFTERMATH_MS = 60_000;
const OPERATOR_EVERY_MS = 20_000;
/** In every eighth world one process serves all instances of an agent. */
const SHARING_WORLDS = 8;
/** In every fourth world the store is on a database server. */
const SERVER_WORLDS = 4;
/** Number of violations at which a run stops. */
const ENOUGH_VIOLATIONS = 5;

export async function simulate({ seed, breakage, store, onTrace }: SimulateOptions): Promise<Outcome> {
  const world = new World(seed, onTrace);
  const onUnhandled = (reason: unknown) => world.violated('no defect', `nobody catches ${String(reason)}`);
  process.on('unhandledRejection', onUnhandled);
  try {
    const simulation = new Simulation(world, seed, breakage, store ?? storeOf(seed, breakage));
    await simulation.run();
    return {
      seed,
      steps: world.steps,
      simulatedMs: world.nowMs,
      tasks: simulation.invariants.acknowledged,
      attempts: simulation.invariants.attempts,
      faults: world.faults,
      violations: world.violations,
      digest: world.digest(),
    };
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
}

function storeOf(seed: number, breakage: Breakage | undefined): SimulatedStoreKind {
  if (breakage) return breakage.store ?? 'DISK';
  return seed % SERVER_WORLDS === SERVER_WORLDS - 1 ? 'SERVER' : 'DISK';
}

class Simulation {
  readonly invariants: Invariants;
  readonly #world: World;
  readonly #network: Network;
  readonly #hub: SimulatedHub;
  readonly #agents: SimulatedAgent[] = [];
  /** Agents that never come back. */
  readonly #retired = new Set<SimulatedAgent>();
  /** Tasks that end by themselves even when their program hangs. */
  readonly #limited = new Set<string>();
  readonly #faults: Faults;
  readonly #clients: Clients;
  readonly #delays: Delays;
  readonly #drains: Drains;
  readonly #receivers: Receivers;

  constructor(world: World, seed: number, breakage: Breakage | undefined, store: SimulatedStoreKind) {
    this.#world = world;
    this.#network = new Network(world, breakage?.wire);
    this.invariants = new Invariants(world, () => this.#agents);
    this.#hub = new SimulatedHub(
      world,
      this.#network,
      (process) => this.#logOf(process),
      breakage,
      store === 'SERVER' ? this.#database(breakage) : undefined,
    );
    this.#hub.observer = this.invariants;
    const trouble = () => (world.happens(0.5) ? 0 : world.random.next() * 0.3);
    const rules = {
      mayHang: (taskId: string) => this.#limited.has(taskId),
      troubles: { crash: trouble(), hang: trouble(), fail: trouble(), deaf: trouble(), badStart: trouble() },
    };
    const sharesProcess = seed % SHARING_WORLDS === SHARING_WORLDS - 2;
    for (let number = world.between(1, 4); number > 0; number--) {
      const id = `agent-${this.#agents.length + 1}`;
      const instances = this.#instancesOf(id);
      const agent = new SimulatedAgent(id, instances, {
        world,
        network: this.#network,
        hub: this.#hub,
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
    this.#faults = new Faults({ world, network: this.#network, hub: this.#hub, agents: this.#agents });
    this.#delays = new Delays(world, this.#hub, this.invariants);
    const { invariants } = this;
    this.#drains = new Drains(seed, { world, hub: this.#hub, agents: this.#agents, invariants });
    this.#receivers = new Receivers(seed, world, invariants);
    this.#hub.receivers = this.#receivers;
    this.#clients = new Clients(world, this.#hub, invariants, requirementsOf(world), this.#receivers);
  }

  #database(breakage: Breakage | undefined): HubDatabase {
    const world = this.#world;
    const server = new DatabaseServer(world, this.#log('database'), breakage?.serverDefects);
    return { server, link: new DatabaseLink(world, server) };
  }

  async run(): Promise<void> {
    const world = this.#world;
    this.#hub.onEnd = () => this.#startLater(() => this.#startHub());
    this.#hub.onReady = () => this.#clients.comeBack();
    this.#startHub();
    for (const agent of this.#agents) {
      agent.onEnd = () => this.#startLater(() => this.#retired.has(agent) || agent.start());
      world.after(world.between(0, 3000), () => agent.start());
    }
    const turbulentMs = world.between(60_000, 900_000);
    this.#clients.start(world.between(3, 40), turbulentMs);
    this.#faults.start();
    this.#delays.start();
    this.#drains.start();
    if (this.#agents.length > 1 && world.happens(0.3)) {
      world.after(world.between(0, turbulentMs), () => this.#retire(world.random.of(this.#agents)));
    }
    world.after(turbulentMs, () => this.#calm());

    let untilMs = turbulentMs + PATIENCE_MS;
    let over = false;
    while (world.nowMs < untilMs && world.violations.length < ENOUGH_VIOLATIONS) {
      if (!(await world.step())) break;
      const tasks = this.#hub.changes();
      if (tasks) this.invariants.look(tasks);
      if (!over && !world.turbulent && world.steps % 50 === 0 && this.#isOver()) {
        over = true;
        untilMs = world.nowMs + AFTERMATH_MS;
      }
    }
    if (this.#hub.database) this.#hub.database.link.isAtRest = true;
    if (world.violations.length < ENOUGH_VIOLATIONS) {
      this.#receivers.check(this.#hub.store.tasks());
      await this.invariants.finish(this.#hub, this.#present, this.#clients.inputDigests);
    }
    this.#hub.onEnd = () => undefined;
    for (const agent of this.#agents) {
      agent.onEnd = () => undefined;
      agent.kill();
    }
    this.#hub.kill();
  }

  #startHub(): void {
    this.#hub.start().catch((error: unknown) => {
      // The service manager restarts a hub that cannot reach its database.
      if (this.#hub.database && error instanceof HubError) return this.#hub.kill();
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
    void this.#hub.engine?.shutdown.change(false);
    this.#drains.undrainAll();
    const profiles = this.#present.flatMap(({ instances }) => instances);
    for (const { profile, status } of this.#hub.engine?.instances.list() ?? []) {
      if (status !== 'DOWN') continue;
      this.#hub.request(
        ({ control }) => control.command(profile.id, 'start'),
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
    if (!this.invariants.allEnded || !this.#hub.engine) return false;
    if (this.#receivers.untold(this.#hub.store.tasks()).length > 0) return false;
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
    return this.#log(process.name);
  }

  #log(name: string): Logger {
    const world = this.#world;
    const line = (level: string) => (first: unknown, second?: unknown) => {
      const error = (first as { err?: unknown }).err;
      if (error instanceof TypeError || error instanceof RangeError) {
        world.violated('no defect', `${name}: ${error.stack}`);
      }
      if (!world.traced) return;
      const words = typeof first === 'string' ? first : `${String(second)} ${fieldsOf(first)}`;
      world.note(name, `${level} ${words}`);
    };
    const silent = () => undefined;
    const log = {
      level: 'info',
      trace: silent,
      debug: silent,
      info: line('info'),
      warn: line('warn'),
      error: line('error'),
      fatal: line('fatal'),
      child: () => log,
    };
    return log as unknown as Logger;
  }
}

function fieldsOf(fields: unknown): string {
  return JSON.stringify(fields, (_key, value: unknown) => (value instanceof Error ? value.message : value));
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
