import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { AgentDrainStore } from '../../../core/ports/agent-drains.js';
import { type Database, statement } from '../pool.js';
import { translatedWith } from './translate-errors.js';

interface Row {
  agent_id: string;
  since: number;
  drained_by: string;
}

const INSERT = statement(
  'INSERT INTO agent_drain (agent_id, since, drained_by) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
);
const REMOVE = statement('DELETE FROM agent_drain WHERE agent_id = $1');
const ALL = statement('SELECT agent_id, since, drained_by FROM agent_drain ORDER BY agent_id');

export function postgresAgentDrains(database: Database, log: Logger | null): AgentDrainStore {
  const translated = translatedWith(log);
  return {
    drain: ({ agentId, sinceMs, by }) =>
      translated(async () => (await database.changed(INSERT, [agentId, sinceMs, by])) === 1),
    undrain: (agentId) => translated(async () => (await database.changed(REMOVE, [agentId])) === 1),
    all: () =>
      translated(async () =>
        (await database.rows<Row>(ALL)).map((row) => ({
          agentId: row.agent_id,
          sinceMs: row.since,
          by: row.drained_by,
        })),
      ),
  };
}
