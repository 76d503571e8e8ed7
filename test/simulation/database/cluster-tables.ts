/** The tables of the simulated server by which hubs meet, and the form of the statements on them. */
import type { NamedStatement } from '@workbench-hub/hub/store/postgres/connection/statement';

export interface HubRow {
  readonly id: string;
  incarnation: string;
  version: string;
  address: string;
  startedAtMs: number;
  seenAtMs: number;
  clockOffsetMs: number | null;
  preparedAtMs: number | null;
}

export interface AgentRow {
  readonly id: string;
  version: string;
  revision: string;
  seenAtMs: number;
  clockOffsetMs: number | null;
  /** Profiles of its instances, as JSON. */
  profiles: string;
  /** Hub that it is connected to. */
  hubId: string | null;
  nodeId: string;
  joinNumber: number | null;
  address: string | null;
  /** Identity and address of a joined hub, and the hubs below it, as JSON; null for any other agent. */
  hub: string | null;
  /** As JSON. */
  installation: string | null;
  epoch: number;
}

export interface InstanceRow {
  readonly id: string;
  agentId: string;
  epoch: number;
  version: string;
  revision: string;
  labels: string;
  status: string;
  startedAtMs: number | null;
  /** Kind of jobs, as JSON. */
  runs: string | null;
  lent: string | null;
  lentHost: string | null;
}

export interface MailRow {
  readonly id: string;
  readonly fromHub: string;
  readonly toHub: string;
  readonly agentId: string;
  readonly request: string;
  readonly askedAtMs: number;
  readonly timeoutMs: number;
  reply: string | null;
}

export interface TextRow {
  readonly incarnation: string;
  readonly number: number;
  readonly toldAtMs: number;
  readonly signals: string;
}

/** All rows, each table by its key. */
export interface ClusterTables {
  readonly hubs: Map<string, HubRow>;
  readonly agents: Map<string, AgentRow>;
  readonly instances: Map<string, InstanceRow>;
  readonly mail: Map<string, MailRow>;
  readonly texts: Map<string, TextRow>;
  readonly role: {
    term: number;
    holder: string | null;
    incarnation: string | null;
    untilMs: number | null;
  };
  readonly preparation: { atMs: number | null };
}

export function emptyTables(): ClusterTables {
  return {
    hubs: new Map(),
    agents: new Map(),
    instances: new Map(),
    mail: new Map(),
    texts: new Map(),
    role: { term: 0, holder: null, incarnation: null, untilMs: null },
    preparation: { atMs: null },
  };
}

/** The surroundings of a statement. */
export interface Moment {
  readonly tables: ClusterTables;
  /** Time of the server. */
  readonly nowMs: number;
  /** Running tasks, with their agents. */
  running(): readonly { readonly agentId: string }[];
  notify(payloads: readonly string[]): void;
}

/** READ changes nothing, DURABLE waits for the disk, RELAXED does not. */
export type Durability = 'READ' | 'DURABLE' | 'RELAXED';

export interface ClusterStatement {
  readonly parameters: readonly string[];
  readonly durability: Durability;
  perform(given: never, at: Moment): object[];
}

/** A statement of the store by its name, and what it does to the model. */
export function modelOf<Given>(
  { name, parameters }: Pick<NamedStatement, 'name' | 'parameters'>,
  durability: Durability,
  perform: (given: Given, at: Moment) => object[],
): [string, ClusterStatement] {
  return [name, { parameters, durability, perform }];
}

export function isLive({ seenAtMs }: HubRow, lapseMs: number, nowMs: number): boolean {
  return seenAtMs > nowMs - lapseMs;
}

/** Parameters by which a statement names its hub. */
export interface Self {
  readonly hubId: string;
  readonly incarnation: string;
}

/** The row of a hub that was not replaced; undefined otherwise. */
export function fenceOf({ hubs }: ClusterTables, { hubId, incarnation }: Self): HubRow | undefined {
  const row = hubs.get(hubId);
  return row?.incarnation === incarnation ? row : undefined;
}

/** Removes rows for which the condition holds. */
export function removeWhere<Row>(table: Map<string, Row>, condition: (row: Row) => boolean): void {
  for (const [key, row] of table) if (condition(row)) table.delete(key);
}
