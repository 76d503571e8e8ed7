/** Presence for a hub that has its store alone: connections in memory, over the records of agents in the store. A failure of the store
 *  keeps no agent away. */
import type { InstanceReport } from '@workbench-hub/shared/domain/instance';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { AgentRecord, AgentStore } from '../../core/ports/agent-store.js';
import type { JoinRefusal } from '../../core/ports/agents.js';
import {
  type JoiningAgent,
  joinOutdated,
  type KnownAgent,
  type Presence,
  type PresentAgent,
  type PresentInstance,
  type StartedInstance,
} from '../../core/ports/presence.js';

export interface OwnPresenceOptions {
  readonly agents: AgentStore;
  readonly log: Pick<Logger, 'error'>;
}

interface Connection {
  readonly epoch: number;
  readonly nodeId: string;
  readonly agent: Omit<JoiningAgent, 'instances'>;
  /** By id. */
  readonly instances: Map<string, PresentInstance>;
}

export function ownPresence({ agents, log }: OwnPresenceOptions): Presence {
  const connections = new Map<string, Connection>();
  /** The agent to whose connection each instance belongs. */
  const holders = new Map<string, string>();
  /** The latest join of each agent, also of those that have left. */
  const latestJoins = new Map<string, Pick<JoiningAgent, 'nodeId' | 'joinNumber'>>();
  let epoch = 0;

  const save = async (record: AgentRecord) => {
    try {
      await agents.save(record);
    } catch (error) {
      const fields = { err: error, agentId: record.id };
      log.error(fields, 'the time at which the agent was last seen could not be saved');
    }
  };
  const end = (agentId: string) => {
    for (const instanceId of connections.get(agentId)?.instances.keys() ?? []) holders.delete(instanceId);
    connections.delete(agentId);
  };
  const currentOf = (agentId: string, ofEpoch: number) => {
    const connection = connections.get(agentId);
    return connection?.epoch === ofEpoch ? connection : undefined;
  };

  return {
    join: async (joining) => {
      const refusal = refusalOf(joining, connections.get(joining.id)?.nodeId, holders);
      if (refusal) return refusal;
      const later = laterJoinOf(joining, latestJoins.get(joining.id));
      if (later !== undefined) return joinOutdated(joining.id, later);
      latestJoins.set(joining.id, { nodeId: joining.nodeId, joinNumber: joining.joinNumber });
      const { instances: reports, ...agent } = joining;
      end(agent.id);
      const instances = new Map(reports.map((report) => [report.id, presentAs(report)]));
      for (const instanceId of instances.keys()) holders.set(instanceId, agent.id);
      epoch++;
      connections.set(agent.id, { epoch, nodeId: agent.nodeId, agent, instances });
      void save(recordOf(agent, instances));
      return { epoch };
    },
    changed: (agentId, ofEpoch, report) => {
      const { instances } = currentOf(agentId, ofEpoch) ?? {};
      const former = instances?.get(report.id);
      if (!former) return;
      const { status, startedAtMs, lent } = presentAs(report);
      const profile = { ...former.profile, runs: report.runs };
      instances?.set(report.id, { profile, status, startedAtMs, lent });
    },
    leave: async (agentId, ofEpoch, atMs) => {
      const connection = currentOf(agentId, ofEpoch);
      if (!connection) return false;
      end(agentId);
      await save({ ...recordOf(connection.agent, connection.instances), seenAtMs: atMs });
      return true;
    },
    holds: async (agentId, ofEpoch) => currentOf(agentId, ofEpoch) !== undefined,
    all: async () => {
      const known = new Map((await agents.all()).map((record) => [record.id, awayAs(record, holders)]));
      for (const { agent, instances } of connections.values())
        known.set(agent.id, connectedAs(agent, instances));
      return [...known.values()].sort(byId);
    },
    forget: async (agentId) => {
      if (connections.has(agentId)) return false;
      latestJoins.delete(agentId);
      await agents.forget(agentId);
      return true;
    },
  };
}

function refusalOf(
  { id, nodeId, instances }: JoiningAgent,
  connectedNodeId: string | undefined,
  holders: ReadonlyMap<string, string>,
): JoinRefusal | undefined {
  if (connectedNodeId !== undefined && connectedNodeId !== nodeId) {
    return {
      code: 'AGENT_ID_TAKEN',
      message: `an agent with the id ${id} is connected from elsewhere: give one of them another "id"`,
    };
  }
  for (const instance of instances) {
    const holder = holders.get(instance.id);
    if (holder === undefined || holder === id) continue;
    return {
      code: 'INSTANCE_ID_TAKEN',
      message: `the instance id ${instance.id} is in use by the connected agent ${holder}: ids are unique in the cluster`,
    };
  }
  return undefined;
}

/** Number of the latest join if that is a later one of the same node. */
function laterJoinOf(
  { nodeId, joinNumber }: JoiningAgent,
  latest: Pick<JoiningAgent, 'nodeId' | 'joinNumber'> | undefined,
): number | undefined {
  if (joinNumber === null || latest?.nodeId !== nodeId || latest.joinNumber === null) return undefined;
  return latest.joinNumber > joinNumber ? latest.joinNumber : undefined;
}

function recordOf(
  { id, version, revision, seenAtMs, clockOffsetMs, installation }: KnownAgent,
  instances: ReadonlyMap<string, PresentInstance>,
): AgentRecord {
  const profiles = [...instances.values()].map(({ profile }) => profile);
  return { id, version, revision, seenAtMs, clockOffsetMs, installation, instances: profiles };
}

function profileOf({ id, version, revision, labels, runs }: InstanceReport) {
  return { id, version, revision, labels, runs };
}

function presentAs(report: StartedInstance): PresentInstance {
  const { status, startedAtMs, lent, lentHost } = report;
  return { profile: profileOf(report), status, startedAtMs, lent, lentHost };
}

function connectedAs(
  agent: Connection['agent'],
  instances: ReadonlyMap<string, PresentInstance>,
): PresentAgent {
  const { id, version, revision, seenAtMs, clockOffsetMs, installation, address, hub } = agent;
  const sorted = [...instances.values()].sort((a, b) => byId(a.profile, b.profile));
  return {
    id,
    version,
    revision,
    seenAtMs,
    clockOffsetMs,
    installation,
    address,
    hub,
    isConnected: true,
    instances: sorted,
  };
}

/** A disconnected agent, without the instances that are another's by now. */
function awayAs(record: AgentRecord, holders: ReadonlyMap<string, string>): PresentAgent {
  const instances = record.instances
    .filter(({ id }) => !holders.has(id))
    .map((profile) => ({ profile, status: 'UNKNOWN' as const, startedAtMs: null }))
    .sort((a, b) => byId(a.profile, b.profile));
  return { ...record, address: null, isConnected: false, instances };
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
