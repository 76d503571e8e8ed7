import type { AgentDrainStore } from '../../../core/ports/agent-drains.js';
import { type AgentDrainRow, drainOfRow } from '../../rows/agent-drain-row.js';
import { type Database, statement } from '../connection/pool.js';
import type { AccountWork } from './account-work.js';

const INSERT = statement(
  'INSERT INTO agent_drain (agent_id, since, drained_by) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING agent_id',
);
const REMOVE = statement('DELETE FROM agent_drain WHERE agent_id = $1 RETURNING agent_id');
const ALL = statement('SELECT agent_id, since, drained_by FROM agent_drain ORDER BY agent_id');

export function postgresAgentDrains(database: Database, work: AccountWork): AgentDrainStore {
  return {
    drain: ({ agentId, sinceMs, by }) => work.change(database, INSERT, [agentId, sinceMs, by]),
    undrain: (agentId) => work.change(database, REMOVE, [agentId]),
    all: () => work.read(async () => (await database.rows<AgentDrainRow>(ALL)).map(drainOfRow)),
  };
}
