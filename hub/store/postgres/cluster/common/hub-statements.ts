/** Statements on the rows of hubs. */
import { sql } from '../../connection/statement.js';

/** Whether a hub counts as live. Uses the parameter `lapseMs`. */
export const IS_LIVE = "hub.seen_at > clock_timestamp() - :lapseMs * interval '1 millisecond'";

/** Whether a connected agent's hub counts, which this one always does. Uses `lapseMs` and `hubId`. */
export const HOLDS_AGENTS = `(hub.id = :hubId OR ${IS_LIVE})`;

/** Common table expression with the own row, which has none once the hub was replaced. It is locked, so that what refers to it
 *  takes place before the hub is replaced or not at all. */
export const FENCE =
  'fence AS (SELECT id FROM hub WHERE id = :hubId AND incarnation = :incarnation FOR KEY SHARE)';

/** Common table expression by which a statement does not wait for the disk, once another part reads from it. */
export const RELAXED = "relaxed AS (SELECT set_config('synchronous_commit', 'off', true))";

export const NOW_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** Waits until no join of the hub is under way, and lets none begin. */
export const LOCK_HUB = sql({ hubId: 'text' }, 'SELECT incarnation FROM hub WHERE id = :hubId FOR UPDATE');

/** Takes the row, also from an earlier incarnation that no longer renews it. */
export const REGISTER = sql(
  {
    ...{ hubId: 'text', incarnation: 'text', version: 'text', generation: 'integer' },
    ...{ address: 'text', restartMs: 'bigint' },
  },
  `INSERT INTO hub (id, incarnation, version, generation, address, started_at, seen_at)
   VALUES (:hubId, :incarnation, :version, :generation, :address, clock_timestamp(), clock_timestamp())
   ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation, version = excluded.version,
     generation = excluded.generation, address = excluded.address,
     started_at = CASE WHEN hub.incarnation = excluded.incarnation THEN hub.started_at ELSE excluded.started_at END,
     prepared_at = CASE WHEN hub.incarnation = excluded.incarnation THEN hub.prepared_at END,
     seen_at = excluded.seen_at
   WHERE hub.incarnation = excluded.incarnation
     OR hub.seen_at < clock_timestamp() - :restartMs * interval '1 millisecond'
   RETURNING id`,
);

export const SET_ADDRESS = sql(
  { hubId: 'text', incarnation: 'text', address: 'text' },
  'UPDATE hub SET address = :address WHERE id = :hubId AND incarnation = :incarnation',
);

export const DISCONNECT_AGENTS = sql(
  { hubId: 'text' },
  `WITH away AS (UPDATE agent SET hub_id = NULL, address = NULL WHERE hub_id = :hubId RETURNING id)
   DELETE FROM agent_instance USING away WHERE agent_instance.agent_id = away.id`,
);

export const REMOVE_HUB = sql({ hubId: 'text' }, 'DELETE FROM hub WHERE id = :hubId');

export interface HeartbeatRow {
  readonly id: string;
  readonly incarnation: string;
  readonly is_live: boolean;
  readonly address: string;
  /** Whether the own row was renewed. */
  readonly has_heartbeat: boolean;
  readonly has_requests: boolean;
  readonly now_ms: number;
  /** Newest schema generation of the database. */
  readonly newest: number;
  /** The newest one whose hubs need the former tables no more. */
  readonly contracted: number;
}

/** Renews the own row, and returns those of all hubs. */
export const HEARTBEAT = sql(
  { hubId: 'text', incarnation: 'text', offsetMs: 'bigint', lapseMs: 'bigint' },
  `WITH ${RELAXED},
   heartbeat AS (
     UPDATE hub SET seen_at = clock_timestamp(), clock_offset_ms = coalesce(:offsetMs, clock_offset_ms) FROM relaxed
     WHERE id = :hubId AND incarnation = :incarnation RETURNING id),
   schema AS (
     SELECT max(generation) AS newest, coalesce(max(generation) FILTER (WHERE phase = 'contract'), 0) AS contracted
     FROM schema_migration)
   SELECT hub.id, hub.incarnation, hub.address, ${IS_LIVE} AS is_live, EXISTS (SELECT FROM heartbeat) AS has_heartbeat,
     EXISTS (SELECT FROM mail WHERE to_hub = :hubId AND reply IS NULL) AS has_requests, ${NOW_MS} AS now_ms,
     schema.newest, schema.contracted
   FROM hub CROSS JOIN schema`,
);

/** Removes hubs that nobody has seen for a day, old requests, and old texts of signals; and the lanes of hubs that nobody has seen for 90
 *  days, with the changes that they logged. */
export const SWEEP = sql(
  { hubId: 'text' },
  `WITH old_hubs AS (
     DELETE FROM hub WHERE id <> :hubId AND seen_at < clock_timestamp() - interval '1 day'
       AND NOT EXISTS (SELECT FROM agent WHERE agent.hub_id = hub.id)),
   old_mail AS (DELETE FROM mail WHERE asked_at < clock_timestamp() - interval '1 minute'),
   seen AS (
     INSERT INTO lane_hub (hub)
     SELECT DISTINCT lane.hub FROM lane LEFT JOIN lane_hub ON lane_hub.hub = lane.hub
     WHERE lane_hub.hub IS NULL OR (
       lane_hub.seen_at < clock_timestamp() - interval '1 hour' AND EXISTS (SELECT FROM hub WHERE hub.id = lane.hub))
     ON CONFLICT (hub) DO UPDATE SET seen_at = excluded.seen_at),
   old_lanes AS (
     DELETE FROM lane USING lane_hub WHERE lane.hub = lane_hub.hub AND lane_hub.seen_at < clock_timestamp() - interval '90 days'
       AND NOT EXISTS (SELECT FROM hub WHERE hub.id = lane.hub)
     RETURNING lane.id),
   old_changes AS (DELETE FROM task_change USING old_lanes WHERE task_change.lane_id = old_lanes.id)
   DELETE FROM signal_text WHERE told_at < clock_timestamp() - interval '1 minute'`,
);

export interface HubRow {
  readonly id: string;
  readonly version: string;
  readonly address: string;
  readonly started_at_ms: number;
  readonly seen_at_ms: number;
  readonly is_live: boolean;
  readonly clock_offset_ms: number | null;
  readonly prepared_at: number | null;
  /** Null unless it is the scheduler. */
  readonly term: number | null;
  readonly agents: number;
  readonly running: number;
}

export const ALL_HUBS = sql(
  { lapseMs: 'bigint' },
  `SELECT hub.id, hub.version, hub.address, (extract(epoch FROM hub.started_at) * 1000)::bigint AS started_at_ms,
     (extract(epoch FROM hub.seen_at) * 1000)::bigint AS seen_at_ms, ${IS_LIVE} AS is_live, hub.clock_offset_ms, hub.prepared_at,
     CASE WHEN scheduler_term.holder = hub.id AND scheduler_term.incarnation = hub.incarnation
       AND scheduler_term.until > clock_timestamp() THEN scheduler_term.term END AS term,
     (SELECT count(*) FROM agent WHERE agent.hub_id = hub.id) AS agents,
     (SELECT count(*) FROM task JOIN agent ON agent.id = task.agent_id
      WHERE task.status = 'RUNNING' AND agent.hub_id = hub.id) AS running
   FROM hub CROSS JOIN scheduler_term ORDER BY hub.id`,
);
