/** Number of slots, fewer for a small trial of a workload. */
const SMALL_SCALE = 0.01;
const SMALL_SLOTS = 2;

/** Number of simultaneous tasks, of this many at the full size. */
export function slotsAt(scale: number, slots: number): number {
  return scale < SMALL_SCALE ? SMALL_SLOTS : slots;
}
