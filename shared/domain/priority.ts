/** Task priorities, highest first; the index is the rank in the queue. */
export const PRIORITIES = ['HIGHEST', 'HIGH', 'NORMAL', 'LOW', 'LOWEST'] as const;
export type Priority = (typeof PRIORITIES)[number];

export const DEFAULT_PRIORITY: Priority = 'NORMAL';

/** 0 for the highest priority. */
export function priorityRank(priority: Priority): number {
  return PRIORITIES.indexOf(priority);
}

/** Priority of a rank; throws RangeError for an invalid one. */
export function priorityOfRank(rank: number): Priority {
  const priority = PRIORITIES[rank];
  if (!priority) throw new RangeError(`no priority has the rank ${rank}`);
  return priority;
}
