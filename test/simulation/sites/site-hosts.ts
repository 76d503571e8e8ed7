/** Hosts that the workload manager of a site brings, in the world of hubs that join hubs. */
import type { HostRecipe } from '@workbench-hub/hub/core/hosts/host-recipe';
import type { ConfiguredRecipe } from '@workbench-hub/hub/engine/hosts/build-hosts';
import { SimulatedManager } from '../hosts/simulated-manager.js';
import type { Network } from '../network.js';
import type { Process } from '../process.js';
import { SimulatedAgent } from '../simulated-agent.js';
import type { SimulatedHubs } from '../simulated-hubs.js';
import type { World } from '../world.js';
import { worldLog } from '../world-log.js';

export interface SiteHostsOptions {
  readonly world: World;
  readonly network: Network;
  /** The hubs of the site, once they are there. */
  readonly hubs: () => SimulatedHubs;
}

const MINUTE_MS = 60_000;
const TROUBLES = ['isAway', 'isSlow', 'losesAnswers', 'refuses'] as const;

export class SiteHosts {
  readonly #options: SiteHostsOptions;
  readonly #recipe: HostRecipe;
  readonly #manager: SimulatedManager;
  readonly #agents = new Map<string, SimulatedAgent>();

  constructor(options: SiteHostsOptions) {
    const { world } = options;
    this.#options = options;
    const wallTimeMs = world.between(14, 20) * MINUTE_MS;
    const allocations = world.between(1, 4);
    const ids = Array.from({ length: world.between(1, 2) }, (_, at) => `gear-${at + 1}`);
    this.#recipe = {
      ...{ name: 'gears', manager: 'slurm', managerKey: 'slurm', wallTimeMs },
      instances: [{ instanceClass: { version: '1', labels: [], runs: undefined }, count: ids.length, ids }],
      limits: { allocations, queued: world.between(1, allocations), hostHoursPerDay: null },
      idleMs: world.between(5, 60) * 1000,
      joinWithinMs: MINUTE_MS,
      drainBeforeMs: world.between(60, 120) * 1000,
    };
    this.#manager = new SimulatedManager(world, {
      ...{ name: 'manager', hosts: world.between(1, 4), wallTimeMs, badStarts: 0.1 },
      newAgent: (id) => this.#agentOf(id),
      onSubmit: () => undefined,
    });
  }

  /** The recipe as a process of the hub has it. */
  recipesOf(process: Process): ConfiguredRecipe[] {
    return [{ recipe: this.#recipe, manager: this.#manager.portFor(process) }];
  }

  /** Names of the hosts that wait or run. */
  get live(): string[] {
    return this.#manager.live;
  }

  /** Number of hosts that have begun. */
  get count(): number {
    return this.#agents.size;
  }

  /** Names and beginnings of faults; each begins one, and returns its end if it has one. */
  faults(): (readonly [kind: string, happen: () => (() => void) | undefined])[] {
    const manager = this.#manager;
    return [
      ...TROUBLES.map((kind) => [`workload manager ${kind}`, () => this.#trouble(kind)] as const),
      ['job preempted', () => void manager.preempt()],
      ['job put back', () => void manager.putBack()],
      ['host lost', () => void manager.loseHost()],
    ];
  }

  calm(): void {
    for (const kind of TROUBLES) this.#manager[kind] = false;
  }

  end(): void {
    for (const agent of this.#agents.values()) {
      agent.onEnd = () => undefined;
      agent.kill();
    }
  }

  #trouble(kind: (typeof TROUBLES)[number]): () => void {
    this.#manager[kind] = true;
    return () => {
      this.#manager[kind] = false;
      this.#manager.mended();
    };
  }

  #agentOf(id: string): SimulatedAgent {
    const { world, network, hubs } = this.#options;
    const instances = this.#recipe.instances.flatMap(({ ids }) =>
      ids.map((name) => ({ id: `${id}-${name}`, version: '1', revision: '1', labels: [] })),
    );
    const agent = new SimulatedAgent(id, instances, {
      ...{ world, network, hubs: hubs(), addresses: hubs().all.map(({ address }) => address) },
      rules: {
        mayHang: () => false,
        troubles: { crash: 0, hang: 0, fail: 0, deaf: 0, badStart: 0 },
      },
      logFor: (process) => worldLog(world, process.name),
      breakage: undefined,
      onAssigned: () => undefined,
      onCancel: () => undefined,
      onSettled: () => undefined,
    });
    this.#agents.set(id, agent);
    return agent;
  }
}
