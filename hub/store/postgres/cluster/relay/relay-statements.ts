/** Statements on relayed requests, whose table is named `mail`. */
import { sql } from '../../connection/statement.js';
import { IS_LIVE, RELAXED } from '../common/hub-statements.js';

/** Posts a request to the live hub that holds the agent, unless that is this one. A repeat posts nothing new. */
export const ASK = sql(
  { id: 'text', hubId: 'text', agentId: 'text', request: 'text', timeoutMs: 'bigint', lapseMs: 'bigint' },
  `WITH ${RELAXED}
   INSERT INTO mail (id, from_hub, to_hub, agent_id, request, asked_at, timeout_ms)
   SELECT :id, :hubId, hub.id, agent.id, :request, clock_timestamp(), :timeoutMs
   FROM relaxed, agent JOIN hub ON hub.id = agent.hub_id WHERE agent.id = :agentId AND hub.id <> :hubId AND ${IS_LIVE}
   ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING to_hub`,
);

/** Posts a request to another live hub itself. A repeat posts nothing new. */
export const ASK_HUB = sql(
  { id: 'text', hubId: 'text', toHub: 'text', request: 'text', timeoutMs: 'bigint', lapseMs: 'bigint' },
  `WITH ${RELAXED}
   INSERT INTO mail (id, from_hub, to_hub, agent_id, request, asked_at, timeout_ms)
   SELECT :id, :hubId, hub.id, '', :request, clock_timestamp(), :timeoutMs
   FROM relaxed, hub WHERE hub.id = :toHub AND hub.id <> :hubId AND ${IS_LIVE}
   ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING to_hub`,
);

export interface RequestRow {
  readonly id: string;
  /** Empty in a request to the hub itself. */
  readonly agent_id: string;
  readonly from_hub: string;
  readonly request: string;
  readonly left_ms: number;
}

/** The requests for a hub that have no reply yet, without those that it knows. */
export const REQUESTS = sql(
  { hubId: 'text', known: 'text[]' },
  `SELECT id, agent_id, from_hub, request,
     timeout_ms - (extract(epoch FROM clock_timestamp() - asked_at) * 1000)::bigint AS left_ms
   FROM mail WHERE to_hub = :hubId AND reply IS NULL AND id <> ALL (:known)`,
);

export const REPLY = sql({ id: 'text', reply: 'text' }, 'UPDATE mail SET reply = :reply WHERE id = :id');

export interface ReplyRow {
  readonly id: string;
  readonly reply: string;
}

export const REPLIES = sql(
  { ids: 'text[]' },
  'SELECT id, reply FROM mail WHERE id = ANY (:ids) AND reply IS NOT NULL',
);

export const FORGET = sql({ id: 'text' }, 'DELETE FROM mail WHERE id = :id');
