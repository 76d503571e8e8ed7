/** Tasks that have waited for long. */
import type { TaskItem } from '@workbench-hub/client';

/** A task that waits for longer is asked about. */
const STUCK_AFTER_MS = 60_000;
/** Tasks of one request. */
export const STUCK_LIMIT = 500;
/** Steps by which the age of the oldest tasks is found more exactly. */
const MAX_STEPS = 8;
const LONGEST_MS = 10 * 366 * 86_400_000;

interface Waiting {
  readonly total: number;
  /** Newest first, as many as the limit. */
  readonly tasks: readonly TaskItem[];
}

/** Asks for the waiting tasks that were requested before this time, in milliseconds since 1970. */
type AskWaiting = (beforeMs: number, limit: number) => Promise<Waiting>;

/**
 * Tasks that have waited for more than a minute, newest first, and how many they are. Of more than one response holds, the newest
 * and the oldest, since those at the end of a queue say why it is long, and those at its head why it does not move.
 */
export async function stuckTasks(ask: AskWaiting, nowMs: number): Promise<Waiting> {
  const { total, tasks } = await ask(nowMs - STUCK_AFTER_MS, STUCK_LIMIT);
  if (total <= tasks.length) return { total, tasks };
  const known = new Set(tasks.map(({ id }) => id));
  const oldest = await oldestTasks(ask, nowMs);
  return { total, tasks: [...tasks, ...oldest.filter(({ id }) => !known.has(id))] };
}

/** The oldest tasks, as many as one response holds or fewer: the hub lists the newest first, so their age is looked for. */
async function oldestTasks(ask: AskWaiting, nowMs: number): Promise<readonly TaskItem[]> {
  let tooYoungMs = STUCK_AFTER_MS;
  let ageMs = 2 * tooYoungMs;
  let { total } = await ask(nowMs - ageMs, 1);
  while (total > STUCK_LIMIT && ageMs < LONGEST_MS) {
    tooYoungMs = ageMs;
    ageMs *= 2;
    ({ total } = await ask(nowMs - ageMs, 1));
  }
  for (let step = 0; step < MAX_STEPS && total < STUCK_LIMIT / 4; step++) {
    const middleMs = (tooYoungMs + ageMs) / 2;
    const between = await ask(nowMs - middleMs, 1);
    if (between.total > STUCK_LIMIT) tooYoungMs = middleMs;
    else {
      ageMs = middleMs;
      total = between.total;
    }
  }
  return (await ask(nowMs - ageMs, STUCK_LIMIT)).tasks;
}
