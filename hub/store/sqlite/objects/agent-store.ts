import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import type { AgentStore } from '../../../core/ports/agent-store.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';

interface AgentRow {
  id: string;
  version: string;
  revision: string;
  seen_at: number;
  clock_offset_ms: number | null;
  instances: string;
}

export function sqliteAgentStore(db: SqliteDatabase, commit: GroupCommit): AgentStore {
  const upsert = db.prepare<[string, string, string, number, number | null, string]>(`
    INSERT INTO agent (id, version, revision, seen_at, clock_offset_ms, instances) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET version = excluded.version, revision = excluded.revision,
      seen_at = excluded.seen_at, clock_offset_ms = excluded.clock_offset_ms, instances = excluded.instances`);
  const selectAll = db.prepare<[], AgentRow>('SELECT * FROM agent ORDER BY id');
  const remove = db.prepare<[string]>('DELETE FROM agent WHERE id = ?');

  return {
    save: async ({ id, version, revision, seenAtMs, clockOffsetMs, instances }) =>
      void (await commit.relaxed(() =>
        upsert.run(id, version, revision, seenAtMs, clockOffsetMs, JSON.stringify(instances)),
      )),
    all: async () =>
      selectAll.all().map((row) => ({
        id: row.id,
        version: row.version,
        revision: row.revision,
        seenAtMs: row.seen_at,
        clockOffsetMs: row.clock_offset_ms,
        instances: JSON.parse(row.instances) as InstanceProfile[],
      })),
    forget: async (agentId) => void (await commit.relaxed(() => remove.run(agentId))),
  };
}
