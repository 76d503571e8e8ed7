import type { FormerAttempt } from '../../core/ports/task-archive.js';
import type { RunningAttempt } from '../../core/ports/task-queue.js';

export interface FormerAttemptRow {
  readonly attempt: number;
  readonly agent_id: string;
  readonly instance_id: string;
  readonly instance_version: string;
  readonly instance_revision: string;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly loss: FormerAttempt['loss'];
  readonly reason: string | null;
}

/** `id` is that of the task. */
export interface RunningAttemptRow {
  readonly id: string;
  readonly attempt: number;
  readonly agent_id: string;
  readonly instance_id: string;
}

export function formerAttemptOfRow(row: FormerAttemptRow): FormerAttempt {
  return {
    attempt: row.attempt,
    instance: {
      id: row.instance_id,
      version: row.instance_version,
      revision: row.instance_revision,
      agentId: row.agent_id,
    },
    startedAtMs: row.started_at,
    endedAtMs: row.ended_at,
    loss: row.loss,
    reason: row.reason,
  };
}

export function runningAttemptOfRow(row: RunningAttemptRow): RunningAttempt {
  return {
    agentId: row.agent_id,
    ref: { taskId: row.id, attempt: row.attempt, instanceId: row.instance_id },
  };
}
