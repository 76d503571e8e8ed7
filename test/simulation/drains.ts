/** An administrator of the simulated world who drains agents and undrains them. */
import { type SeededRandom, seededRandom } from '../support/random.js';
import type { Invariants } from './invariants.js';
import type { SimulatedAgent } from './simulated-agent.js';
import type { SimulatedHub } from './simulated-hub.js';
import type { World } from './world.js';

/** In every seventh world agents are drained. They have random numbers of their own, so that nothing else changes there. */
const WORLDS = 7;
const MAX_INTERVAL_MS = 60_000;

export class Drains {
  readonly #world: World;
  readonly #hub: SimulatedHub;
  readonly #agents: readonly SimulatedAgent[];
  readonly #invariants: Invariants;
  readonly #random: SeededRandom;
  readonly #happens: boolean;

  constructor(
    seed: number,
    {
      world,
      hub,
      agents,
      invariants,
    }: { world: World; hub: SimulatedHub; agents: readonly SimulatedAgent[]; invariants: Invariants },
  ) {
    this.#world = world;
    this.#hub = hub;
    this.#agents = agents;
    this.#invariants = invariants;
    this.#happens = seed % WORLDS === WORLDS - 1;
    this.#random = seededRandom(-seed);
  }

  /** Begins to drain and undrain, as long as the world is turbulent. */
  start(): void {
    if (!this.#happens) return;
    this.#world.after(1 + this.#random.below(MAX_INTERVAL_MS), () => {
      if (!this.#world.turbulent) return;
      const { id } = this.#random.of(this.#agents);
      if (this.#random.oneIn(2)) this.#drain(id);
      else this.#undrain(id);
      this.start();
    });
  }

  undrainAll(): void {
    for (const { agentId } of [...(this.#hub.engine?.instances.drains ?? [])]) this.#undrain(agentId);
  }

  #undrain(agentId: string): void {
    if (!this.#hub.engine) return;
    this.#invariants.undrained(agentId);
    this.#hub.request(
      ({ drains }) => drains.undrain(agentId),
      () => this.#world.tell(agentId, 'is not drained'),
    );
  }

  #drain(agentId: string): void {
    this.#hub.request(
      ({ drains }) => drains.drain(agentId, 'operator'),
      () => {
        this.#world.fault('agent drained', agentId);
        this.#invariants.drained(agentId);
      },
    );
  }
}
