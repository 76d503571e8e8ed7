/** Statements on agents and their instances, performed on the model. */
import * as SQL from '@workbench-hub/hub/store/postgres/cluster/membership/presence-statements';
import {
  type AgentRow,
  type ClusterStatement,
  type ClusterTables,
  fenceOf,
  type InstanceRow,
  isLive,
  modelOf,
  removeWhere,
  type Self,
} from './cluster-tables.js';

interface Asking {
  readonly hubId: string;
  readonly lapseMs: number;
}

interface Joining extends Self, Asking {
  readonly agentId: string;
  readonly nodeId: string;
  readonly joinNumber: number | null;
  readonly version: string;
  readonly revision: string;
  readonly address: string | null;
  readonly seenAt: number;
  readonly clockOffsetMs: number | null;
  readonly hub: string | null;
  readonly installation: string | null;
  readonly profiles: string;
  readonly instanceIds: readonly string[];
  readonly versions: readonly string[];
  readonly revisions: readonly string[];
  readonly labels: readonly string[];
  readonly statuses: readonly string[];
  readonly startedAts: readonly (number | null)[];
  readonly runs: readonly (string | null)[];
  readonly lents: readonly (string | null)[];
  readonly lentHosts: readonly (string | null)[];
}

interface Changes extends Self {
  readonly agentIds: readonly string[];
  readonly epochs: readonly number[];
  readonly instanceIds: readonly string[];
  readonly statuses: readonly string[];
  readonly startedAts: readonly (number | null)[];
  readonly runs: readonly (string | null)[];
  readonly lents: readonly (string | null)[];
  readonly lentHosts: readonly (string | null)[];
}

interface Leaving extends Self {
  readonly agentId: string;
  readonly epoch: number;
  readonly seenAt: number | null;
}

/** Hub that holds the agent and counts; undefined for none. */
function holderOf(tables: ClusterTables, agent: AgentRow, { hubId, lapseMs }: Asking, nowMs: number) {
  const hub = agent.hubId === null ? undefined : tables.hubs.get(agent.hubId);
  return hub && (hub.id === hubId || isLive(hub, lapseMs, nowMs)) ? hub : undefined;
}

/** Instance that another connected agent has, and that agent. */
function takenInstance(tables: ClusterTables, given: Joining, nowMs: number): [string, string] | null {
  for (const id of given.instanceIds) {
    const held = tables.instances.get(id);
    const holder = held && held.agentId !== given.agentId ? tables.agents.get(held.agentId) : undefined;
    if (holder && holderOf(tables, holder, given, nowMs)) return [id, holder.id];
  }
  return null;
}

/** Number of the agent's latest join if that is a later one of the same node. */
function laterJoin(former: AgentRow | undefined, { nodeId, joinNumber }: Joining): number | null {
  if (former?.nodeId !== nodeId || former.joinNumber === null || joinNumber === null) return null;
  return former.joinNumber > joinNumber ? former.joinNumber : null;
}

function place(tables: ClusterTables, given: Joining, epoch: number): void {
  const { agentId, instanceIds } = given;
  removeWhere(tables.instances, (row) => row.agentId === agentId && !instanceIds.includes(row.id));
  for (const [at, id] of instanceIds.entries()) {
    tables.instances.set(id, {
      id,
      agentId,
      epoch,
      version: given.versions[at] ?? '',
      revision: given.revisions[at] ?? '',
      labels: given.labels[at] ?? '[]',
      status: given.statuses[at] ?? '',
      startedAtMs: given.startedAts[at] ?? null,
      runs: given.runs[at] ?? null,
      lent: given.lents[at] ?? null,
      lentHost: given.lentHosts[at] ?? null,
    });
  }
}

function join(given: Joining, tables: ClusterTables, nowMs: number): object {
  const fence = fenceOf(tables, given);
  const former = tables.agents.get(given.agentId);
  const isIdTaken =
    former !== undefined &&
    former.nodeId !== given.nodeId &&
    holderOf(tables, former, given, nowMs) !== undefined;
  const taken = takenInstance(tables, given, nowMs);
  const later = laterJoin(former, given);
  const said = { is_fenced: fence !== undefined, is_id_taken: isIdTaken, later_join: later, taken };
  if (!fence || isIdTaken || later !== null || taken) return { ...said, epoch: null };
  const epoch = former ? Math.max(former.epoch + 1, 1) : nowMs;
  tables.agents.set(given.agentId, {
    id: given.agentId,
    version: given.version,
    revision: given.revision,
    seenAtMs: given.seenAt,
    clockOffsetMs: given.clockOffsetMs,
    profiles: given.profiles,
    hubId: fence.id,
    nodeId: given.nodeId,
    joinNumber: given.joinNumber,
    address: given.address,
    hub: given.hub,
    installation: given.installation,
    epoch,
  });
  place(tables, given, epoch);
  return { ...said, epoch };
}

function change(given: Changes, tables: ClusterTables): void {
  if (!fenceOf(tables, given)) return;
  for (const [at, id] of given.instanceIds.entries()) {
    const row = tables.instances.get(id);
    if (row?.agentId !== given.agentIds[at] || row?.epoch !== given.epochs[at] || !row) continue;
    row.status = given.statuses[at] ?? '';
    row.startedAtMs = given.startedAts[at] ?? null;
    row.runs = given.runs[at] ?? null;
    row.lent = given.lents[at] ?? null;
    row.lentHost = given.lentHosts[at] ?? null;
  }
}

function leave(given: Leaving, tables: ClusterTables): object {
  const { agentId, epoch, seenAt } = given;
  const agent = tables.agents.get(agentId);
  const isThis = agent?.epoch === epoch;
  const hadLeft = isThis && agent.hubId === null && agent.seenAtMs === seenAt;
  const fence = fenceOf(tables, given);
  const hasLeft = isThis && fence !== undefined && agent.hubId === fence.id;
  if (hasLeft) disconnect(tables, agent, seenAt ?? agent.seenAtMs);
  return { has_left: hasLeft, had_left: hadLeft };
}

function disconnect(tables: ClusterTables, agent: AgentRow, seenAtMs: number): void {
  agent.hubId = agent.address = agent.hub = null;
  agent.seenAtMs = seenAtMs;
  removeWhere(tables.instances, (row) => row.agentId === agent.id && row.epoch === agent.epoch);
}

function disconnectLost(asking: Asking, tables: ClusterTables, nowMs: number): object[] {
  const lost: object[] = [];
  for (const agent of tables.agents.values()) {
    const { hubId, id, epoch } = agent;
    if (hubId === null || hubId === asking.hubId || holderOf(tables, agent, asking, nowMs)) continue;
    disconnect(tables, agent, Math.max(agent.seenAtMs, tables.hubs.get(hubId)?.seenAtMs ?? 0));
    lost.push({ id, hub_id: hubId, epoch });
  }
  return lost;
}

function presentRow({
  id,
  version,
  revision,
  labels,
  status,
  startedAtMs,
  runs,
  lent,
  lentHost,
}: InstanceRow) {
  return [id, version, revision, labels, status, startedAtMs, runs, lent, lentHost];
}

function allAgents(asking: Asking, tables: ClusterTables, nowMs: number): object[] {
  return [...tables.agents.values()].map((agent) => {
    const isConnected = holderOf(tables, agent, asking, nowMs) !== undefined;
    const present = [...tables.instances.values()].filter(
      ({ agentId, epoch }) => agentId === agent.id && epoch === agent.epoch,
    );
    return {
      id: agent.id,
      version: agent.version,
      revision: agent.revision,
      seen_at: agent.seenAtMs,
      clock_offset_ms: agent.clockOffsetMs,
      address: agent.address,
      hub: agent.hub,
      installation: agent.installation,
      profiles: agent.profiles,
      is_connected: isConnected,
      instances: isConnected && present.length > 0 ? present.map(presentRow) : null,
    };
  });
}

export const PRESENCE_STATEMENTS: readonly [string, ClusterStatement][] = [
  modelOf(SQL.LOCK_JOINS, 'READ', () => [{}]),
  modelOf<Joining>(SQL.JOIN, 'RELAXED', (given, { tables, nowMs }) => [join(given, tables, nowMs)]),
  modelOf<Changes>(SQL.CHANGE, 'RELAXED', (given, { tables }) => {
    change(given, tables);
    return [];
  }),
  modelOf<Leaving>(SQL.LEAVE, 'RELAXED', (given, { tables }) => [leave(given, tables)]),
  modelOf<{ hubId: string; agentId: string; epoch: number }>(
    SQL.HOLDS,
    'READ',
    ({ hubId, agentId, epoch }, { tables }) => {
      const agent = tables.agents.get(agentId);
      return [{ holds: agent?.epoch === epoch && agent.hubId === hubId }];
    },
  ),
  modelOf<Asking & { agentId: string }>(SQL.FORGET, 'DURABLE', (given, { tables, nowMs }) => {
    const agent = tables.agents.get(given.agentId);
    const isConnected = agent !== undefined && holderOf(tables, agent, given, nowMs) !== undefined;
    if (!isConnected && agent) {
      tables.agents.delete(agent.id);
      removeWhere(tables.instances, ({ agentId }) => agentId === agent.id);
    }
    return [{ is_connected: isConnected }];
  }),
  modelOf<Asking>(SQL.ALL_AGENTS, 'READ', (asking, { tables, nowMs }) => allAgents(asking, tables, nowMs)),
  modelOf<Asking>(SQL.HOLDERS, 'READ', (asking, { tables, nowMs }) =>
    [...tables.agents.values()].map((agent) => ({
      id: agent.id,
      hubId: holderOf(tables, agent, asking, nowMs)?.id ?? null,
      epoch: agent.epoch,
    })),
  ),
  modelOf<Asking>(SQL.DISCONNECT_LOST, 'DURABLE', (asking, { tables, nowMs }) =>
    disconnectLost(asking, tables, nowMs),
  ),
];
