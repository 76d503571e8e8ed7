import type { WaitingTask } from '../../core/match-tasks.js';
import type { GroupPage } from '../../core/ports/task-queue.js';

/** A waiting task without its group. */
export interface HeadRow {
  readonly seq: number;
  readonly id: string;
  readonly priority: number;
  readonly time_limit_s: number | null;
}

export interface GroupRow {
  readonly id: number;
  /** Null when the group has no waiting task, or a longer key than was asked for. */
  readonly key: string | null;
}

export function waitingTaskOfRow(
  { id, priority, seq, time_limit_s: timeLimitS }: HeadRow,
  groupId: number,
  requirementKey: string,
): WaitingTask {
  return { taskId: id, groupId, requirementKey, priorityRank: priority, sequence: seq, timeLimitS };
}

/** A page of at most `limit` rows. */
export function groupsOfRows(rows: readonly GroupRow[], limit: number): GroupPage {
  return {
    groups: rows.flatMap(({ id, key }) => (key === null ? [] : [{ groupId: id, requirementKey: key }])),
    nextAfterGroupId: rows.length < limit ? null : (rows.at(-1)?.id ?? null),
  };
}
