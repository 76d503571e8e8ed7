/** Tasks whose end is written and not yet synced, by id: an end that may still be lost is shown to nobody. */
export type PendingCompletions = Map<string, Promise<unknown>>;

/** Tracks the ends of these tasks until `written` settles; returns `written`. */
export function trackCompletions<T>(
  pending: PendingCompletions,
  taskIds: readonly string[],
  written: Promise<T>,
): Promise<T> {
  for (const id of taskIds) {
    const before = pending.get(id);
    // Either of two concurrent ends may be the one that holds.
    const finished = before === undefined ? written : Promise.allSettled([before, written]);
    pending.set(id, finished);
    const forget = () => {
      if (pending.get(id) === finished) pending.delete(id);
    };
    finished.then(forget, forget);
  }
  return written;
}
