import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { AgentDrainStore } from '../../../core/ports/agent-drains.js';
import { type AgentDrainRow, drainOfRow } from '../../rows/agent-drain-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import { translatedWith } from './translate-errors.js';

export function sqliteAgentDrains(db: SqliteDatabase, log: Logger | null): AgentDrainStore {
  const translated = translatedWith(log);
  const insert = db.prepare<[string, number, string]>(
    'INSERT INTO agent_drain (agent_id, since, drained_by) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const remove = db.prepare<[string]>('DELETE FROM agent_drain WHERE agent_id = ?');
  const all = db.prepare<[], AgentDrainRow>('SELECT * FROM agent_drain ORDER BY agent_id');

  return {
    drain: ({ agentId, sinceMs, by }) => translated(() => insert.run(agentId, sinceMs, by).changes === 1),
    undrain: (agentId) => translated(() => remove.run(agentId).changes === 1),
    all: () => translated(() => all.all().map(drainOfRow)),
  };
}
