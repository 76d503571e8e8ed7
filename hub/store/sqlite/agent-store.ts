import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import type { AgentStore } from '../../core/ports/agent-store.js';
import type { SqliteDatabase } from './database.js';
import type { GroupCommit } from './group-commit.js';

interface AgentRow {
  id: string;
  version: string;
  revision: string;
  seen_at: number;
  instances: string;
}

export function sqliteAgentStore(db: SqliteDatabase, commit: GroupCommit): AgentStore {
  const upsert = db.prepare<[string, string, string, number, string]>(`
    INSERT INTO agent (id, version, revision, seen_at, instances) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET version = excluded.version, revision = excluded.revision,
      seen_at = excluded.seen_at, instances = excluded.instances`);
  const selectAll = db.prepare<[], AgentRow>('SELECT * FROM agent ORDER BY id');
  const remove = db.prepare<[string]>('DELETE FROM agent WHERE id = ?');

  return {
    save: async ({ id, version, revision, seenAtMs, instances }) =>
      void (await commit.relaxed(() =>
        upsert.run(id, version, revision, seenAtMs, JSON.stringify(instances)),
      )),
    all: async () =>
      selectAll.all().map((row) => ({
        id: row.id,
        version: row.version,
        revision: row.revision,
        seenAtMs: row.seen_at,
        instances: JSON.parse(row.instances) as InstanceProfile[],
      })),
    forget: async (agentId) => void (await commit.relaxed(() => remove.run(agentId))),
  };
}
