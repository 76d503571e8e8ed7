/** Whoever only wants to know whether a workload works need not start so many processes. */
const SMALL_SCALE = 0.01;
const SMALL_SLOTS = 2;

/** How many tasks may run at the same time, of this many at the full size. */
export function slotsAt(scale: number, slots: number): number {
  return scale < SMALL_SCALE ? SMALL_SLOTS : slots;
}
