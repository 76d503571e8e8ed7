/** Rows of a list of tasks, and how changes and newer windows alter them. */
import type { TaskItem } from '@workbench-hub/client';
import type { TaskEvent } from './live-events.js';

export type TaskStatus = TaskItem['status'];

/** The sentence with which the hub begins why a task waits; beside the status it says nothing. */
const WAITS = /^The task waits for a workbench instance\.\s+/;

/** Part of a message beyond the status. */
export function reasonOf(message: string): string {
  return message.replace(WAITS, '');
}

export interface Merged {
  readonly rows: readonly TaskItem[];
  /** Whether the changes may alter what is counted, or bring tasks that are not among the rows. */
  readonly isStale: boolean;
}

/** Rows after these changes: tasks as they are now, without those that are gone or have left the wanted statuses. */
export function mergeEvents(
  rows: readonly TaskItem[],
  events: readonly TaskEvent[],
  statuses: readonly TaskStatus[],
): Merged {
  const latest = new Map<string, TaskItem | undefined>();
  for (const event of events) {
    if (event.type === 'task') latest.set(event.task.id, event.task);
    else latest.set(event.id, undefined);
  }
  let isStale = false;
  const kept = rows.flatMap((row) => {
    if (!latest.has(row.id)) return [row];
    const now = latest.get(row.id);
    latest.delete(row.id);
    if (now?.status !== row.status) isStale = true;
    if (now === undefined) return [];
    return statuses.length === 0 || statuses.includes(now.status) ? [now] : [];
  });
  return { rows: kept, isStale: isStale || latest.size > 0 };
}

/** Changes but for those that are surely older than the row of their task: attempts count up, and what has ended stays so. */
export function withoutOlder(events: readonly TaskEvent[], rows: readonly TaskItem[]): readonly TaskEvent[] {
  if (events.length === 0) return events;
  const byId = new Map(rows.map((row) => [row.id, row]));
  return events.filter((event) => {
    const row = event.type === 'task' ? byId.get(event.task.id) : undefined;
    if (event.type !== 'task' || row === undefined) return true;
    return (
      event.task.attempt >= row.attempt && (row.endedAt === undefined || event.task.endedAt !== undefined)
    );
  });
}

/** Rows that begin with this newest window; what is older stays. Undefined when there is a gap between them. */
export function withHead(
  rows: readonly TaskItem[],
  head: readonly TaskItem[],
  hasMore: boolean,
): readonly TaskItem[] | undefined {
  if (!hasMore) return head;
  const last = head.at(-1);
  if (last === undefined) return [];
  const at = rows.findIndex(({ id }) => id === last.id);
  if (at >= 0) return [...head, ...rows.slice(at + 1)];
  const inHead = new Set(head.map(({ id }) => id));
  if (!rows.some(({ id }) => inHead.has(id))) return undefined;
  const lastMs = Date.parse(last.requestedAt);
  return [
    ...head,
    ...rows.filter(({ id, requestedAt }) => !inHead.has(id) && Date.parse(requestedAt) < lastMs),
  ];
}
