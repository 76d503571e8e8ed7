import type { Allocation, AllocationCause, AllocationState } from '../../core/hosts/allocation.js';
import type { RanForUser, RanInPeriod, RecipeNote, RecipeNoteChange } from '../../core/ports/allocations.js';

export interface AllocationRow {
  readonly id: string;
  readonly recipe: string;
  readonly state: string;
  readonly job_id: string | null;
  readonly reason: string;
  readonly for_user: string | null;
  readonly cause: string | null;
  readonly message: string | null;
  readonly wanted_at: number;
  readonly started_at: number | null;
  readonly joined_at: number | null;
  readonly ends_at: number | null;
  readonly ended_at: number | null;
}

export const ALLOCATION_COLUMNS =
  'id, recipe, state, job_id, reason, for_user, cause, message, wanted_at, started_at, joined_at, ends_at, ended_at';

/** Condition of the allocations that are not over, as an index has it. */
export const IS_OPEN_ALLOCATION = 'ended_at IS NULL';

/** Query of `latest`, whose branches each read an index. */
export const LATEST_ALLOCATIONS = `
  SELECT ${ALLOCATION_COLUMNS} FROM (
    SELECT * FROM (${endedAllocations('ended_at <= :now')}) AS past UNION ALL SELECT * FROM (${endedAllocations('ended_at > :now')}) AS ahead
  ) AS known ORDER BY ended_at > :now, ended_at DESC, seq DESC LIMIT :limit`;

function endedAllocations(condition: string): string {
  return `
    SELECT seq, ${ALLOCATION_COLUMNS} FROM allocation
    WHERE ${condition} AND (:recipe IS NULL OR recipe = :recipe) ORDER BY ended_at DESC, seq DESC LIMIT :limit`;
}

export function allocationOfRow(row: AllocationRow): Allocation {
  return {
    id: row.id,
    recipe: row.recipe,
    state: row.state as AllocationState,
    jobId: row.job_id,
    reason: row.reason,
    forUser: row.for_user,
    cause: row.cause as AllocationCause | null,
    message: row.message,
    wantedAtMs: row.wanted_at,
    startedAtMs: row.started_at,
    joinedAtMs: row.joined_at,
    endsAtMs: row.ends_at,
    endedAtMs: row.ended_at,
  };
}

export function rowOfAllocation(allocation: Allocation): AllocationRow {
  const { id, recipe, state, jobId, reason, forUser, cause, message } = allocation;
  const { wantedAtMs, startedAtMs, joinedAtMs, endsAtMs, endedAtMs } = allocation;
  return {
    ...{ id, recipe, state, job_id: jobId, reason, for_user: forUser, cause, message },
    ...{ wanted_at: wantedAtMs, started_at: startedAtMs, joined_at: joinedAtMs },
    ...{ ends_at: endsAtMs, ended_at: endedAtMs },
  };
}

/** Query of a time by which an allocation that ended later cannot have run before. */
export const LONGEST_ALLOCATION = 'SELECT coalesce(max(ended_at - started_at), 0) + 1 FROM allocation';

export interface RanForUserRow {
  readonly recipe: string;
  readonly for_user: string;
  readonly ran: number | string;
}

export function ranForUserOfRow({ recipe, for_user: forUser, ran }: RanForUserRow): RanForUser {
  return { recipe, forUser, ranMs: Number(ran) };
}

export interface RanInPeriodRow {
  readonly at: number;
  readonly recipe: string;
  readonly ran: number | string;
}

export function ranInPeriodOfRow({ at, recipe, ran }: RanInPeriodRow): RanInPeriod {
  return { at: Number(at), recipe, ranMs: Number(ran) };
}

export interface RecipeNoteRow {
  readonly recipe: string;
  readonly paused_at: number | null;
  readonly paused_by: string | null;
  readonly resumed_at: number | null;
  readonly drained_at: number | null;
  readonly drained_by: string | null;
  readonly fault: string | null;
}

export function noteOfRow(row: RecipeNoteRow): RecipeNote {
  return {
    recipe: row.recipe,
    pausedAtMs: row.paused_at,
    pausedBy: row.paused_by,
    resumedAtMs: row.resumed_at,
    drainedAtMs: row.drained_at,
    drainedBy: row.drained_by,
    fault: row.fault,
  };
}

/** The values of a change, and for each column whether it is changed. */
export function valuesOfNote(change: RecipeNoteChange) {
  const {
    pausedAtMs = null,
    pausedBy = null,
    resumedAtMs = null,
    drainedAtMs = null,
    drainedBy = null,
    fault = null,
  } = change;
  return {
    ...{ pausedAt: pausedAtMs, pausedBy, resumedAt: resumedAtMs, drainedAt: drainedAtMs, drainedBy, fault },
    hasPause: Number('pausedAtMs' in change),
    hasResumption: Number('resumedAtMs' in change),
    hasDrain: Number('drainedAtMs' in change),
    hasFault: Number('fault' in change),
  };
}
