/** Repetition of statements over faults of the database, the same for lanes, accounts and what hubs tell each other. */
import { type BackOff, backOff } from '@workbench-hub/shared/runtime/back-off';
import type { DatabaseFault, DatabaseFaultKind } from './database-fault.js';

/** Time for which statements are repeated while the database is away; from then on each is tried once. */
export const HOLD_MS = 10_000;

const FIRST_RETRY_MS = 20;
const MAX_RETRY_MS = 1000;

const FINAL_FAULTS: ReadonlySet<DatabaseFaultKind> = new Set(['REFUSED', 'FULL_DISK', 'NO_RIGHTS']);

/** Whether repeating is no remedy. */
export function isFinal({ kind }: DatabaseFault): boolean {
  return FINAL_FAULTS.has(kind);
}

/** Delays between the tries of a statement: 20 ms, doubled up to 1 s, and nothing of them random. */
export function retryDelays(): BackOff {
  return backOff(FIRST_RETRY_MS, MAX_RETRY_MS, () => 1);
}
