/** A kind of fault of the simulated world. */
import type { Network } from './network.js';
import type { SimulatedAgent } from './simulated-agent.js';
import type { SimulatedHub } from './simulated-hub.js';
import type { SimulatedHubs } from './simulated-hubs.js';
import type { World } from './world.js';

export interface Victims {
  readonly world: World;
  readonly network: Network;
  /** All hubs. */
  readonly hubs: SimulatedHubs;
  /** The hub that is hit. */
  readonly hub: SimulatedHub;
  readonly agents: readonly SimulatedAgent[];
}

/** Mends a fault. */
export type Mend = () => void;

export interface Fault {
  readonly kind: string;
  /** Hits only hubs whose store is on their disk. */
  readonly isOfDisk?: true;
  /** Happens in worlds with one hub only. */
  readonly isOfOneHub?: true;
  /** Causes the fault and reports it with `did`; returns how to mend it, unless that is not needed. */
  happen(victims: Victims, did: (who: string, detail?: string) => void): Mend | undefined;
  readonly lastsMs?: readonly [number, number];
}
