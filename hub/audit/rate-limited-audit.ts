/**
 * Rate limit of refusals and failures in the audit log, which a million refused requests would fill otherwise. Those of a
 * caller, and of unknown callers, get a limited number of entries in a minute; the rest is counted in one entry for each
 * caller and action, or for all unknown callers.
 */
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AuditEntry, AuditTrail } from '../core/ports/audit.js';
import { callerOf } from './caller-rate.js';

const WINDOW_MS = 60_000;

/** Single entries of unknown callers within a window. */
const MAX_OF_ADDRESS = 20;
const MAX_OF_STRANGERS = 200;
/** Maximum addresses distinguished. */
const MAX_ADDRESSES = 1000;

/** Single entries of a known caller, with the same action and outcome, and in total. */
const MAX_OF_EQUAL = 10;
const MAX_OF_CALLER = 60;
/** Maximum kinds of refusals of known callers; further ones are counted together. */
const MAX_KINDS = 5000;

export interface RateLimitedAudit extends AuditTrail {
  /** Records the counts so far. */
  flush(): void;
}

/** Count for one caller, action and outcome. */
interface Equal {
  latest: AuditEntry;
  isAdministrators: boolean;
  ownEntries: number;
  counted: number;
}

export function rateLimitedAudit(trail: AuditTrail, { timers, clock }: Runtime): RateLimitedAudit {
  let seen = new Map<string | null, number>();
  let ofStrangers = 0;
  let countedOfStrangers = 0;
  let equals = new Map<string, Equal>();
  let ofCallers = new Map<string, number>();
  let isPlanned = false;

  const flush = () => {
    const atMs = clock.nowMs();
    if (countedOfStrangers > 0) trail.record(moreOfStrangers(atMs, countedOfStrangers, seen));
    for (const { latest, counted, isAdministrators } of equals.values()) {
      if (counted > 0) trail.record(moreOfCaller(atMs, latest, counted), isAdministrators);
    }
    seen = new Map();
    equals = new Map();
    ofCallers = new Map();
    ofStrangers = 0;
    countedOfStrangers = 0;
    isPlanned = false;
  };

  /** True when the refusal of an unknown caller gets a single entry. */
  const isToldOfStranger = (entry: AuditEntry): boolean => {
    const address = seen.size < MAX_ADDRESSES || seen.has(entry.address) ? entry.address : null;
    const ofAddress = (seen.get(address) ?? 0) + 1;
    seen.set(address, ofAddress);
    const isTold = ofAddress <= MAX_OF_ADDRESS && ofStrangers < MAX_OF_STRANGERS;
    if (isTold) ofStrangers++;
    else countedOfStrangers++;
    return isTold;
  };

  /** True when the refusal of a known caller gets a single entry. */
  const isToldOfCaller = (entry: AuditEntry, isAdministrators: boolean): boolean => {
    const caller = callerOf(entry);
    const kind = `${caller} ${entry.outcome} ${entry.action}`;
    const isTooMany = equals.size >= MAX_KINDS && !equals.has(kind);
    const key = isTooMany ? entry.outcome : kind;
    const latest = isTooMany ? { ...entry, user: null, by: null, address: null, action: 'any' } : entry;
    const equal = equals.get(key) ?? { latest, isAdministrators, ownEntries: 0, counted: 0 };
    equal.latest = latest;
    equals.set(key, equal);
    const ofCaller = ofCallers.get(caller) ?? 0;
    if (isTooMany || equal.ownEntries >= MAX_OF_EQUAL || ofCaller >= MAX_OF_CALLER) {
      equal.counted++;
      return false;
    }
    equal.ownEntries++;
    ofCallers.set(caller, ofCaller + 1);
    return true;
  };

  return {
    record(entry, isAdministrators = false) {
      if (entry.outcome === 'ALLOWED') return trail.record(entry, isAdministrators);
      if (!isPlanned) timers.after(WINDOW_MS, flush);
      isPlanned = true;
      const isTold = entry.by === null ? isToldOfStranger(entry) : isToldOfCaller(entry, isAdministrators);
      if (isTold) trail.record(entry, isAdministrators);
    },
    flush,
  };
}

function moreOfStrangers(
  atMs: number,
  counted: number,
  seen: ReadonlyMap<string | null, number>,
): AuditEntry {
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

/** The latest entry without the values in which the entries differ. */
function moreOfCaller(atMs: number, latest: AuditEntry, counted: number): AuditEntry {
  return {
    ...latest,
    atMs,
    action: 'MORE_REFUSALS',
    resource: latest.action,
    detail: `${counted} more within ${WINDOW_MS / 1000} s`,
  };
}
