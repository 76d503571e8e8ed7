/** The end of a host that a workload manager brings. */
import type { Allocation } from './allocation.js';
import type { HostRecipe } from './host-recipe.js';

/** Time before the end of an allocation at which its agent stops by itself. */
export const STOP_BEFORE_MS = 60_000;

/** Time at which what runs on a host must have ended; or, of a host that has not been seen to start, the time that it will have. */
export type HostEnd = { readonly atMs: number } | { readonly forMs: number };

/** End of the time of an open allocation, in milliseconds since 1970: as the workload manager tells it, or else by its start; null when neither is known. */
export function endMsOf(
  { startedAtMs, endsAtMs }: Pick<Allocation, 'startedAtMs' | 'endsAtMs'>,
  wallTimeMs: number | null,
): number | null {
  return endsAtMs ?? (startedAtMs !== null && wallTimeMs !== null ? startedAtMs + wallTimeMs : null);
}

/** End that the workload manager tells, at this time, of a job that runs; null when it tells none. One that has passed stays where it was. */
export function toldEndMs(remainingMs: number | null, atMs: number, knownMs: number | null): number | null {
  if (remainingMs === null) return null;
  const toldMs = atMs + Math.floor(remainingMs);
  return remainingMs <= 0 && knownMs !== null ? Math.min(toldMs, knownMs) : toldMs;
}

/** End of the host of an open allocation; null when it has none. `wallTimeMs` of its recipe is null when the recipe is not configured any more. */
export function hostEndOf(
  allocation: Pick<Allocation, 'startedAtMs' | 'endsAtMs'>,
  wallTimeMs: number | null,
): HostEnd | null {
  const endMs = endMsOf(allocation, wallTimeMs);
  if (endMs !== null) return { atMs: endMs - STOP_BEFORE_MS };
  return wallTimeMs === null ? null : { forMs: wallTimeMs - STOP_BEFORE_MS };
}

/** Time from the start of an allocation until its agent takes tasks. */
const STARTING_MS = 60_000;

/** Time that a fresh allocation has for tasks. */
export function usableMs({
  wallTimeMs,
  drainBeforeMs,
}: Pick<HostRecipe, 'wallTimeMs' | 'drainBeforeMs'>): number {
  return wallTimeMs - Math.max(drainBeforeMs, STOP_BEFORE_MS + STARTING_MS);
}

/** Time that a host still has for tasks. */
export function timeLeftMs(end: HostEnd, nowMs: number): number {
  return 'atMs' in end ? end.atMs - nowMs : end.forMs;
}
