import type { AgentStore } from '../../../core/ports/agent-store.js';
import { type AgentRow, agentOfRow, installationText } from '../../rows/agent-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';

export function sqliteAgentStore(db: SqliteDatabase, commit: GroupCommit): AgentStore {
  const upsert = db.prepare<[string, string, string, number, number | null, string | null, string]>(`
    INSERT INTO agent (id, version, revision, seen_at, clock_offset_ms, installation, instances) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET version = excluded.version, revision = excluded.revision,
      seen_at = excluded.seen_at, clock_offset_ms = excluded.clock_offset_ms, installation = excluded.installation,
      instances = excluded.instances`);
  const selectAll = db.prepare<[], AgentRow>('SELECT * FROM agent ORDER BY id');
  const remove = db.prepare<[string]>('DELETE FROM agent WHERE id = ?');

  return {
    save: async ({ id, version, revision, seenAtMs, clockOffsetMs, installation, instances }) => {
      const texts = [installationText(installation), JSON.stringify(instances)] as const;
      await commit.relaxed(() => upsert.run(id, version, revision, seenAtMs, clockOffsetMs, ...texts));
    },
    all: async () => selectAll.all().map(agentOfRow),
    forget: async (agentId) => void (await commit.relaxed(() => remove.run(agentId))),
  };
}
