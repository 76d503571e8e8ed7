/** Statements on agents and their instances. */
import type { JobKind } from '@workbench-hub/shared/domain/instance';
import type { LentHostEnd } from '../../../../core/hosts/lent-host.js';
import { sql } from '../../connection/statement.js';
import { FENCE, HOLDS_AGENTS, IS_LIVE, NOW_MS, RELAXED } from '../common/hub-statements.js';

/** The second key tells it from the lock of the database. */
const JOIN_LOCK = '2002937973, 2';

/** Lets the joins of all hubs take turns, within a transaction: two agents that join at once may have the same instance. A hub that
 *  is cut off meanwhile keeps the others waiting for two seconds. */
export const LOCK_JOINS = sql(
  {},
  `SELECT set_config('idle_in_transaction_session_timeout', '2s', true), set_config('synchronous_commit', 'off', true),
     pg_advisory_xact_lock(${JOIN_LOCK})`,
);

export interface JoinRow {
  readonly is_fenced: boolean;
  readonly is_id_taken: boolean;
  /** An instance that another connected agent has, and that agent. */
  readonly taken: readonly [instanceId: string, agentId: string] | null;
  /** Number of a later join of the agent; null when there is none. */
  readonly later_join: number | null;
  /** Null when the agent has not joined. */
  readonly epoch: number | null;
}

/** Lets an agent join unless it is refused. The first epoch of an agent is the time, so that one that was forgotten does not
 *  begin again with the epochs that it had. */
export const JOIN = sql(
  {
    hubId: 'text',
    incarnation: 'text',
    lapseMs: 'bigint',
    agentId: 'text',
    nodeId: 'text',
    joinNumber: 'bigint',
    version: 'text',
    revision: 'text',
    address: 'text',
    seenAt: 'bigint',
    clockOffsetMs: 'bigint',
    hub: 'text',
    installation: 'text',
    profiles: 'text',
    instanceIds: 'text[]',
    versions: 'text[]',
    revisions: 'text[]',
    labels: 'text[]',
    statuses: 'text[]',
    startedAts: 'bigint[]',
    runs: 'text[]',
    lents: 'text[]',
    lentHosts: 'text[]',
  },
  `WITH ${FENCE},
   connected AS NOT MATERIALIZED (SELECT agent.id, agent.node_id FROM agent JOIN hub ON hub.id = agent.hub_id WHERE ${HOLDS_AGENTS}),
   refused_id AS (SELECT FROM connected WHERE id = :agentId AND node_id <> :nodeId),
   later AS (SELECT join_number FROM agent WHERE id = :agentId AND node_id = :nodeId AND join_number > :joinNumber),
   refused_instance AS (
     SELECT agent_instance.id, agent_instance.agent_id FROM agent_instance JOIN connected ON connected.id = agent_instance.agent_id
     WHERE agent_instance.id = ANY (:instanceIds) AND agent_instance.agent_id <> :agentId
     ORDER BY array_position(:instanceIds, agent_instance.id) LIMIT 1),
   joined AS (
     INSERT INTO agent (id, version, revision, seen_at, clock_offset_ms, instances, hub_id, node_id, join_number, address, hub,
       installation, epoch)
     SELECT :agentId, :version, :revision, :seenAt, :clockOffsetMs, :profiles, fence.id, :nodeId, :joinNumber, :address, :hub,
       :installation, ${NOW_MS}
     FROM fence
     WHERE NOT EXISTS (SELECT FROM refused_id) AND NOT EXISTS (SELECT FROM later) AND NOT EXISTS (SELECT FROM refused_instance)
     ON CONFLICT (id) DO UPDATE SET version = excluded.version, revision = excluded.revision, seen_at = excluded.seen_at,
       clock_offset_ms = excluded.clock_offset_ms, instances = excluded.instances, hub_id = excluded.hub_id,
       node_id = excluded.node_id, join_number = excluded.join_number, address = excluded.address,
       hub = excluded.hub, installation = excluded.installation, epoch = greatest(agent.epoch + 1, 1)
     RETURNING epoch),
   dropped AS (
     DELETE FROM agent_instance USING joined
     WHERE agent_instance.agent_id = :agentId AND agent_instance.id <> ALL (:instanceIds)),
   placed AS (
     INSERT INTO agent_instance (id, agent_id, epoch, version, revision, labels, status, started_at, runs, lent, lent_host)
     SELECT given.id, :agentId, joined.epoch, given.version, given.revision, given.labels, given.status, given.started_at, given.runs,
       given.lent, given.lent_host
     FROM joined, unnest(:instanceIds, :versions, :revisions, :labels, :statuses, :startedAts, :runs, :lents, :lentHosts)
       AS given (id, version, revision, labels, status, started_at, runs, lent, lent_host)
     ON CONFLICT (id) DO UPDATE SET agent_id = excluded.agent_id, epoch = excluded.epoch, version = excluded.version,
       revision = excluded.revision, labels = excluded.labels, status = excluded.status, started_at = excluded.started_at,
       runs = excluded.runs, lent = excluded.lent, lent_host = excluded.lent_host)
   SELECT EXISTS (SELECT FROM fence) AS is_fenced, EXISTS (SELECT FROM refused_id) AS is_id_taken,
     (SELECT join_number FROM later) AS later_join,
     (SELECT json_build_array(id, agent_id) FROM refused_instance) AS taken, (SELECT epoch FROM joined) AS epoch`,
);

/** Changes instances. */
export const CHANGE = sql(
  {
    hubId: 'text',
    incarnation: 'text',
    agentIds: 'text[]',
    epochs: 'bigint[]',
    instanceIds: 'text[]',
    statuses: 'text[]',
    startedAts: 'bigint[]',
    runs: 'text[]',
    lents: 'text[]',
    lentHosts: 'text[]',
  },
  `WITH ${FENCE}, ${RELAXED}
   UPDATE agent_instance SET status = given.status, started_at = given.started_at, runs = given.runs, lent = given.lent,
     lent_host = given.lent_host
   FROM fence, relaxed, unnest(:agentIds, :epochs, :instanceIds, :statuses, :startedAts, :runs, :lents, :lentHosts)
     AS given (agent_id, epoch, id, status, started_at, runs, lent, lent_host)
   WHERE agent_instance.id = given.id AND agent_instance.agent_id = given.agent_id AND agent_instance.epoch = given.epoch`,
);

export interface LeaveRow {
  readonly has_left: boolean;
  /** Whether exactly this had taken place before. */
  readonly had_left: boolean;
}

export const LEAVE = sql(
  { hubId: 'text', incarnation: 'text', agentId: 'text', epoch: 'bigint', seenAt: 'bigint' },
  `WITH ${FENCE}, ${RELAXED},
   away AS (
     UPDATE agent SET hub_id = NULL, address = NULL, hub = NULL, seen_at = coalesce(:seenAt, seen_at) FROM fence, relaxed
     WHERE agent.id = :agentId AND agent.epoch = :epoch AND agent.hub_id = fence.id RETURNING agent.id),
   dropped AS (
     DELETE FROM agent_instance USING away WHERE agent_instance.agent_id = away.id AND agent_instance.epoch = :epoch)
   SELECT EXISTS (SELECT FROM away) AS has_left,
     EXISTS (SELECT FROM agent WHERE id = :agentId AND epoch = :epoch AND hub_id IS NULL AND seen_at = :seenAt) AS had_left`,
);

export const HOLDS = sql(
  { hubId: 'text', agentId: 'text', epoch: 'bigint' },
  'SELECT EXISTS (SELECT FROM agent WHERE id = :agentId AND epoch = :epoch AND hub_id = :hubId) AS holds',
);

/** Removes an agent that is not connected. */
export const FORGET = sql(
  { hubId: 'text', lapseMs: 'bigint', agentId: 'text' },
  `WITH gone AS (
     DELETE FROM agent WHERE id = :agentId
       AND NOT EXISTS (SELECT FROM hub WHERE hub.id = agent.hub_id AND ${HOLDS_AGENTS}) RETURNING id),
   dropped AS (DELETE FROM agent_instance USING gone WHERE agent_instance.agent_id = gone.id)
   SELECT EXISTS (SELECT FROM agent WHERE id = :agentId) AND NOT EXISTS (SELECT FROM gone) AS is_connected`,
);

export type PresentInstanceRow = [
  id: string,
  version: string,
  revision: string,
  labels: string,
  status: string,
  startedAtMs: number | null,
  runs: string | null,
  lent: string | null,
  lentHost: string | null,
];

/** Lent host in a row: JSON, or null for an instance on a host that stays. */
export function lentHostText(lentHost: LentHostEnd | undefined): string | null {
  return lentHost ? JSON.stringify(lentHost) : null;
}

/** Kind of jobs in a row: JSON, or null when the program does not say. */
export function runsText(runs: JobKind | undefined): string | null {
  return runs ? JSON.stringify(runs) : null;
}

export interface AgentRow {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  readonly seen_at: number;
  readonly clock_offset_ms: number | null;
  readonly address: string | null;
  /** JSON of what the agent says as a hub; null for any other. */
  readonly hub: string | null;
  /** JSON; null for an agent that has not joined since hubs keep it. */
  readonly installation: string | null;
  readonly profiles: string;
  readonly is_connected: boolean;
  /** Null when it is disconnected, or has none. */
  readonly instances: readonly PresentInstanceRow[] | null;
}

export const ALL_AGENTS = sql(
  { hubId: 'text', lapseMs: 'bigint' },
  `SELECT agent.id, agent.version, agent.revision, agent.seen_at, agent.clock_offset_ms, agent.address, agent.hub, agent.installation,
     agent.instances AS profiles, hub.id IS NOT NULL AS is_connected,
     CASE WHEN hub.id IS NOT NULL THEN (
       SELECT json_agg(json_build_array(present.id, present.version, present.revision, present.labels, present.status,
         present.started_at, present.runs, present.lent, present.lent_host)) FROM agent_instance AS present
       WHERE present.agent_id = agent.id AND present.epoch = agent.epoch) END AS instances
   FROM agent LEFT JOIN hub ON hub.id = agent.hub_id AND ${HOLDS_AGENTS}`,
);

/** Agents with the live hubs that hold them; null for those that are disconnected. */
export const HOLDERS = sql(
  { hubId: 'text', lapseMs: 'bigint' },
  `SELECT agent.id, hub.id AS "hubId", agent.epoch FROM agent LEFT JOIN hub ON hub.id = agent.hub_id AND ${HOLDS_AGENTS}`,
);

export interface LostRow {
  readonly id: string;
  /** Hub that held it. */
  readonly hub_id: string;
  readonly epoch: number;
}

/** Disconnects the agents of other hubs that are gone. */
export const DISCONNECT_LOST = sql(
  { hubId: 'text', lapseMs: 'bigint' },
  `WITH lost AS (
     SELECT agent.id, agent.hub_id, agent.epoch, hub.seen_at FROM agent LEFT JOIN hub ON hub.id = agent.hub_id
     WHERE agent.hub_id <> :hubId AND (hub.id IS NULL OR NOT ${IS_LIVE})),
   away AS (
     UPDATE agent SET hub_id = NULL, address = NULL, hub = NULL,
       seen_at = greatest(agent.seen_at, (extract(epoch FROM lost.seen_at) * 1000)::bigint)
     FROM lost WHERE agent.id = lost.id AND agent.epoch = lost.epoch AND agent.hub_id = lost.hub_id
     RETURNING agent.id, lost.hub_id, agent.epoch),
   dropped AS (
     DELETE FROM agent_instance USING away WHERE agent_instance.agent_id = away.id AND agent_instance.epoch = away.epoch)
   SELECT id, hub_id, epoch FROM away`,
);
