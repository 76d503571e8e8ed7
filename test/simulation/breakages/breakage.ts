/** The type of a defect that is built into the simulated parts on purpose. */
import type { EnginePorts } from '@workbench-hub/agent/engine/agent-engine';
import type { EngineForAgents } from '@workbench-hub/hub/agent-link/agent-session';
import type { EngineOptions } from '@workbench-hub/hub/engine/engine';
import type { BlobStoreOptions } from '@workbench-hub/hub/files/blob-store';
import type { Database } from '@workbench-hub/hub/store/postgres/connection/pool';
import type { ObservedStore } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import type { SimulatedDisk } from '@workbench-hub/hub/store/sqlite/fixtures/simulated-store';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BrokenWire } from '../connection.js';
import type { DatabaseServer, ServerDefects } from '../database/server.js';

export type HubPorts = Pick<
  EngineOptions,
  | 'queue'
  | 'archive'
  | 'studies'
  | 'cluster'
  | 'agentDrains'
  | 'files'
  | 'loans'
  | 'allocations'
  | 'hostRecipes'
  | 'names'
  | 'runtime'
  | 'webhooks'
>;

export interface Breakage {
  readonly name: string;
  /** The first seed that finds it; the tests try this one first. */
  readonly seed: number;
  /** Replaces ports of the hub. */
  readonly hub?: (ports: HubPorts, store: ObservedStore) => Partial<HubPorts>;
  /** The store of the worlds that find it; that on the disk when left out. */
  readonly store?: 'SERVER';
  /** Number of hubs of the worlds that find it; one that is alone when left out. */
  readonly hubs?: number;
  /** Replaces the connections to the database server. */
  readonly database?: (
    db: Database,
    parts: { readonly server: DatabaseServer; readonly runtime: Runtime },
  ) => Database;
  readonly serverDefects?: ServerDefects;
  /** The times of a hub are those of its machine. */
  readonly storesOwnTimes?: true;
  /** Replaces the disk beneath the hub's database. */
  readonly disk?: (disk: SimulatedDisk) => SimulatedDisk;
  /** Replaces options of the hub's blob store. */
  readonly contents?: (options: BlobStoreOptions) => BlobStoreOptions;
  /** Replaces the engine as connections of agents see it. */
  readonly agents?: (agents: EngineForAgents) => EngineForAgents;
  readonly wire?: BrokenWire;
  /** Replaces ports of an agent. */
  readonly agent?: (ports: EnginePorts) => Partial<EnginePorts>;
}
