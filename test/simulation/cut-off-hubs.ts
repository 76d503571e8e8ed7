/** Hubs that are cut off from the database while others live: each lets its agents go. One that only asks to join gives up by itself. */
import type { Connection } from './connection.js';
import type { Network } from './network.js';
import type { SimulatedHub } from './simulated-hub.js';
import type { SimulatedHubs } from './simulated-hubs.js';
import type { World } from './world.js';

/** Longer than a hub takes to notice, with the delays of its requests. */
const LIMIT_MS = 25_000;

export interface CutOffHubsOptions {
  readonly world: World;
  readonly hubs: SimulatedHubs;
  readonly network: Network;
}

export class CutOffHubs {
  readonly #options: CutOffHubsOptions;
  /** Time since which connections have been open at a hub that is cut off. */
  #openSinceMs = new Map<Connection, number>();

  constructor(options: CutOffHubsOptions) {
    this.#options = options;
  }

  look(): void {
    const { world, hubs } = this.#options;
    const before = this.#openSinceMs;
    this.#openSinceMs = new Map();
    for (const hub of hubs.all.filter(mayKeepNone)) {
      for (const connection of this.#openAt(hub)) {
        const sinceMs = before.get(connection) ?? world.nowMs;
        this.#openSinceMs.set(connection, sinceMs);
        if (world.nowMs - sinceMs <= LIMIT_MS) continue;
        const what = `${hub.name} is cut off from the database and keeps ${connection.agentId}`;
        world.violated('a hub that is cut off lets its agents go', what);
        this.#openSinceMs.delete(connection);
      }
    }
  }

  #openAt({ process }: SimulatedHub): Connection[] {
    return this.#options.network.open.filter(
      ({ hub, isJoined }) => hub.process === process && !hub.closing && isJoined,
    );
  }
}

/** Whether a hub is to have no agents: another hub, of which it knows, can have them. */
function mayKeepNone(hub: SimulatedHub): boolean {
  return hub.isWorking && hub.database?.link.isCutOff === true && hub.knowsOthers;
}
