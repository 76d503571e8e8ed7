/** Parts that are told of each changed task, within the transaction that changes it. */
export interface ChangedTasks {
  /** A new task. */
  added(seq: number): void;
  changed(seq: number): void;
  /** A change by which the task has ended. */
  taskEnded(seq: number): void;
  removed(seq: number, taskId: string): void;
}

/** Passes each call on to all parts. */
export function toldAll(parts: readonly ChangedTasks[]): ChangedTasks {
  return {
    added: (seq) => {
      for (const part of parts) part.added(seq);
    },
    changed: (seq) => {
      for (const part of parts) part.changed(seq);
    },
    taskEnded: (seq) => {
      for (const part of parts) part.taskEnded(seq);
    },
    removed: (seq, taskId) => {
      for (const part of parts) part.removed(seq, taskId);
    },
  };
}
