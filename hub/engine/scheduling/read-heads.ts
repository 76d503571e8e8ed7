/** Reading the first waiting tasks of many queue groups together. */
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { compareWaiting, type WaitingTask } from '../../core/match-tasks.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';

export interface HeadsRead {
  /** The first tasks, in order. */
  readonly heads: readonly WaitingTask[];
  /** No task waits behind the last of them. */
  readonly isComplete: boolean;
  /** Groups in which nothing waited. */
  readonly emptyGroupIds: readonly number[];
}

interface Asked {
  readonly groupId: number;
  readonly limit: number;
}

/** Groups that are read in one turn of the event loop. */
const GROUPS_PER_TURN = 500;

/**
 * Returns the first `wanted` tasks. Asks each group for its share, then doubles the limit of groups that may hold better ones:
 * about as many tasks are read as there are groups and wanted tasks.
 */
export async function readHeads(
  queue: Pick<TaskQueue, 'heads'>,
  timers: Timers,
  groupIds: readonly number[],
  wanted: number,
): Promise<HeadsRead> {
  const headsOf = new Map<number, WaitingTask[]>();
  const limit = Math.min(wanted, Math.ceil((2 * wanted) / Math.max(1, groupIds.length)));
  let asked: Asked[] = groupIds.map((groupId) => ({ groupId, limit }));
  let truncated: Asked[] = [];
  for (;;) {
    await readInTurns(queue, timers, asked, headsOf);
    const reached = ({ groupId, limit }: Asked) => headsOf.get(groupId)?.length === limit;
    truncated = [...truncated, ...asked.filter(reached)];
    const heads = [...headsOf.values()].flat().sort(compareWaiting);
    const lastWanted = heads[wanted - 1];
    const mayHideBetter = ({ groupId }: Asked) => {
      const last = headsOf.get(groupId)?.at(-1);
      return !lastWanted || (last !== undefined && compareWaiting(last, lastWanted) < 0);
    };
    asked = truncated
      .filter(mayHideBetter)
      .map(({ groupId, limit }) => ({ groupId, limit: Math.min(wanted, 2 * limit) }));
    if (asked.length === 0) {
      const isComplete = truncated.length === 0 && heads.length <= wanted;
      const emptyGroupIds = groupIds.filter((groupId) => !headsOf.has(groupId));
      return { heads: heads.slice(0, wanted), isComplete, emptyGroupIds };
    }
    truncated = truncated.filter((group) => !mayHideBetter(group));
  }
}

async function readInTurns(
  queue: Pick<TaskQueue, 'heads'>,
  timers: Timers,
  asked: readonly Asked[],
  headsOf: Map<number, WaitingTask[]>,
): Promise<void> {
  for (let from = 0; from < asked.length; from += GROUPS_PER_TURN) {
    if (from > 0) await new Promise<void>((resolve) => timers.soon(resolve));
    const groups = asked.slice(from, from + GROUPS_PER_TURN);
    for (const { groupId } of groups) headsOf.delete(groupId);
    for (const head of await queue.heads(groups)) {
      const ofGroup = headsOf.get(head.groupId);
      if (ofGroup) ofGroup.push(head);
      else headsOf.set(head.groupId, [head]);
    }
  }
}
