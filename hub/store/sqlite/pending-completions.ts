/** The tasks whose end is written and not yet synced, by id: nobody is shown an end that may still be lost. */
export type PendingCompletions = Map<string, Promise<unknown>>;

/** Remembers that these tasks are being ended until `written` is settled; gives `written`. */
export function trackCompletions<T>(
  endings: PendingCompletions,
  taskIds: readonly string[],
  written: Promise<T>,
): Promise<T> {
  for (const id of taskIds) {
    const before = endings.get(id);
    // Two may want to end it; the end that holds may be that of either.
    const settled = before === undefined ? written : Promise.allSettled([before, written]);
    endings.set(id, settled);
    const forget = () => {
      if (endings.get(id) === settled) endings.delete(id);
    };
    settled.then(forget, forget);
  }
  return written;
}
