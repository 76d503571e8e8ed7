/** Allocations of a recipe by what the page shows of them. */
import type { api } from '@workbench-hub/client';

type Allocation = api.HostAllocation;

/** States as they are shown: a start that failed is one of its own. */
export type ShownState = Allocation['state'] | 'FAILED';

export const NOT_STARTED: readonly Allocation['state'][] = ['WANTED', 'SUBMITTED', 'QUEUED'];

/** Causes of an end before its agent joined that are no failure. */
const WANTED_ENDS: readonly (Allocation['cause'] | undefined)[] = ['NOT_NEEDED', 'ASKED'];

export function isOver({ state }: Allocation): boolean {
  return state === 'ENDED' || state === 'LOST';
}

export function shownState(allocation: Allocation): ShownState {
  const { state, joinedAt, cause } = allocation;
  return isOver(allocation) && joinedAt === undefined && !WANTED_ENDS.includes(cause) ? 'FAILED' : state;
}

/** Moment of the latest step of an allocation, as a key of its words. */
export type Step = 'wanted' | 'started' | 'joined' | 'ended';

export function latestStep({ wantedAt, startedAt, joinedAt, endedAt }: Allocation): readonly [Step, string] {
  if (endedAt !== undefined) return ['ended', endedAt];
  if (joinedAt !== undefined) return ['joined', joinedAt];
  return startedAt === undefined ? ['wanted', wantedAt] : ['started', startedAt];
}
