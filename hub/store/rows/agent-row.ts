import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import type { AgentRecord } from '../../core/ports/agent-store.js';

export interface AgentRow {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  readonly seen_at: number;
  readonly clock_offset_ms: number | null;
  /** JSON. */
  readonly instances: string;
}

export function agentOfRow(row: AgentRow): AgentRecord {
  return {
    id: row.id,
    version: row.version,
    revision: row.revision,
    seenAtMs: row.seen_at,
    clockOffsetMs: row.clock_offset_ms,
    instances: JSON.parse(row.instances) as InstanceProfile[],
  };
}
