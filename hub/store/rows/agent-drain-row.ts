import type { AgentDrain } from '../../core/ports/agent-drains.js';

export interface AgentDrainRow {
  readonly agent_id: string;
  readonly since: number;
  readonly drained_by: string;
}

export function drainOfRow(row: AgentDrainRow): AgentDrain {
  return { agentId: row.agent_id, sinceMs: row.since, by: row.drained_by };
}
