/** An administrator of the simulated world who drains agents and undrains them. */
import { type SeededRandom, seededRandom } from '../support/random.js';
import type { Invariants } from './invariants.js';
import type { SimulatedAgent } from './simulated-agent.js';
import type { SimulatedHubs } from './simulated-hubs.js';
import type { World } from './world.js';

/** In every seventh world agents are drained. They have random numbers of their own, so that nothing else changes there. */
const WORLDS = 7;
const MAX_INTERVAL_MS = 60_000;

export class Drains {
  readonly #world: World;
  readonly #hubs: SimulatedHubs;
  readonly #agents: readonly SimulatedAgent[];
  readonly #invariants: Invariants;
  readonly #random: SeededRandom;
  readonly #happens: boolean;
  /** Latest request of each agent: an earlier one may be confirmed after it. */
  readonly #latest = new Map<string, symbol>();

  constructor(
    seed: number,
    {
      world,
      hubs,
      agents,
      invariants,
    }: { world: World; hubs: SimulatedHubs; agents: readonly SimulatedAgent[]; invariants: Invariants },
  ) {
    this.#world = world;
    this.#hubs = hubs;
    this.#agents = agents;
    this.#invariants = invariants;
    // Other hubs learn of a drain a moment later.
    this.#happens = seed % WORLDS === WORLDS - 1 && !hubs.areSeveral;
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
    for (const { agentId } of [...(this.#hubs.serving.engine?.instances.drains ?? [])])
      this.#undrain(agentId);
  }

  #undrain(agentId: string): void {
    if (!this.#hubs.serving.engine) return;
    this.#latest.set(agentId, Symbol('undrain'));
    this.#invariants.undrained(agentId);
    this.#hubs.request(
      ({ drains }) => drains.undrain(agentId),
      () => this.#world.tell(agentId, 'is not drained'),
    );
  }

  #drain(agentId: string): void {
    const request = Symbol('drain');
    this.#latest.set(agentId, request);
    this.#hubs.request(
      ({ drains }) => drains.drain(agentId, 'operator'),
      () => {
        this.#world.fault('agent drained', agentId);
        if (this.#latest.get(agentId) === request) this.#invariants.drained(agentId);
      },
    );
  }
}
