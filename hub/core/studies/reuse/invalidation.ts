/** Statements that earlier results are not to be reused. */
import type { Task } from '../../task.js';

/** Results that a statement names: of one task, of all tasks of an instance, or of all of a revision of the workbench. */
export type InvalidResults =
  | { readonly kind: 'TASK'; readonly taskId: string }
  | { readonly kind: 'INSTANCE'; readonly instanceId: string }
  | { readonly kind: 'REVISION'; readonly version: string; readonly revision: string };

export interface Invalidation {
  readonly id: string;
  readonly of: InvalidResults;
  readonly note: string | null;
  readonly creator: string | null;
  /** Milliseconds since 1970. Results of tasks that ended later are valid. */
  readonly atMs: number;
}

/** The statement by which the result of a finished task is invalid; undefined for none. */
export function invalidationOf(task: Task, all: readonly Invalidation[]): Invalidation | undefined {
  return all.find(({ of, atMs }) => (task.endedAtMs ?? 0) <= atMs && isNamed(task, of));
}

function isNamed({ id, instance }: Task, of: InvalidResults): boolean {
  if (of.kind === 'TASK') return of.taskId === id;
  if (of.kind === 'INSTANCE') return of.instanceId === instance?.id;
  return of.version === instance?.version && of.revision === instance.revision;
}

/** Clause such as `those of instance sim-1`. */
export function namedResults(of: InvalidResults): string {
  if (of.kind === 'TASK') return 'that of this task';
  if (of.kind === 'INSTANCE') return `those of instance ${of.instanceId}`;
  return `those of version ${of.version}, revision ${of.revision}`;
}
