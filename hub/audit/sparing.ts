/**
 * Keeps strangers from filling the audit log: a million refused requests would push out what it is kept for. So of what
 * callers do whom nobody knows, and in vain, only so much gets an entry of its own; the rest is counted.
 */
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AuditEntry, AuditTrail } from '../core/ports/audit.js';

const WINDOW_MS = 60_000;
/** Entries of their own within a window. */
const MAX_OF_ADDRESS = 20;
const MAX_OF_ALL = 200;
/** More addresses than these are not told apart. */
const MAX_ADDRESSES = 1000;

export interface SparingTrail extends AuditTrail {
  /** Records what has been counted so far. */
  flush(): void;
}

export function sparing(trail: AuditTrail, { timers, clock }: Runtime): SparingTrail {
  let seen = new Map<string | null, number>();
  let ownEntries = 0;
  let counted = 0;

  const flush = () => {
    if (counted > 0) trail.record(moreRefusals(clock.nowMs(), counted, seen));
    seen = new Map();
    ownEntries = 0;
    counted = 0;
  };

  return {
    record(entry) {
      if (entry.by !== null || entry.outcome === 'ALLOWED') return trail.record(entry);
      if (seen.size === 0) timers.after(WINDOW_MS, flush);
      const address = seen.size < MAX_ADDRESSES || seen.has(entry.address) ? entry.address : null;
      const ofAddress = (seen.get(address) ?? 0) + 1;
      seen.set(address, ofAddress);
      if (ofAddress > MAX_OF_ADDRESS || ownEntries >= MAX_OF_ALL) {
        counted++;
        return;
      }
      ownEntries++;
      trail.record(entry);
    },
    flush,
  };
}

function moreRefusals(atMs: number, counted: number, seen: ReadonlyMap<string | null, number>): AuditEntry {
  const [address = null] = [...seen].sort(([, a], [, b]) => b - a)[0] ?? [];
  return {
    atMs,
    user: null,
    by: null,
    address,
    action: 'MORE_REFUSALS',
    resource: '',
    outcome: 'REFUSED',
    status: null,
    detail: `${counted} more within ${WINDOW_MS / 1000} s, from ${seen.size} addresses; most from this one`,
  };
}
