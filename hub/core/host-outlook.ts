/** Hosts that recipes bring, or could bring, for a task that waits: as data and in words. */
import type { RecipeObstacle } from '@workbench-hub/shared/domain/lent-recipe';
import { amountInWords, durationInWords } from './amounts-in-words.js';

/** A recipe with an instance class that fits the task. Times are in milliseconds since 1970. */
export interface RecipeOutlook {
  readonly recipe: string;
  /** Number of hosts that were asked for and have not joined. */
  readonly coming: number;
  /** Number of hosts that have joined and are not over. */
  readonly joined: number;
  /** Time at which the first of those that are coming was asked for; null without any. */
  readonly sinceMs: number | null;
  /** Time at which it is expected to join, as earlier ones did; null when too few have, when it is overdue, and while the
   *  workload manager does not answer. */
  readonly expectedMs: number | null;
  readonly obstacle: RecipeObstacle | null;
  /** Time of the next try after failed starts; null without any. */
  readonly nextTryAtMs: number | null;
}

/** Recipes that a message names. */
const RECIPES_NAMED = 3;

const OBSTACLES_IN_WORDS = {
  PAUSED: 'it is paused',
  UNREACHABLE: 'its workload manager does not answer',
  FAILED_STARTS: 'its latest starts have failed',
  MAX_ALLOCATIONS: 'it has all that it may have at a time',
  HOST_HOURS: 'its host-hours of the day are used up',
  USER_ALLOCATIONS: 'its user has all that one user may have at a time',
  USER_HOST_HOURS: 'the host-hours of the day that one user may have are used up',
  TIME: 'they have too little time for it',
} as const satisfies Record<RecipeObstacle, string>;

/** The outlook in words, to follow the reason; empty without any. */
export function outlookInWords(outlooks: readonly RecipeOutlook[], nowMs: number): string {
  return outlooks
    .slice(0, RECIPES_NAMED)
    .map((outlook) => oneInWords(outlook, nowMs))
    .join('');
}

function oneInWords(outlook: RecipeOutlook, nowMs: number): string {
  const { recipe, coming, joined, obstacle } = outlook;
  const name = `recipe ${JSON.stringify(recipe)}`;
  const why = obstacle === null ? '' : `${OBSTACLES_IN_WORDS[obstacle]}${nextTryInWords(outlook, nowMs)}`;
  if (coming === 0 || obstacle === 'TIME')
    return obstacle === null
      ? ''
      : ` No ${coming + joined > 0 ? 'more hosts' : 'hosts'} of ${name} come: ${why}.`;
  const hosts = amountInWords(coming, `host of ${name} is`, `hosts of ${name} are`);
  const further =
    obstacle === null ? '' : obstacle === 'UNREACHABLE' ? `, but ${why}` : `; no more come: ${why}`;
  return ` ${hosts} coming${timesInWords(outlook, nowMs)}${further}.`;
}

function timesInWords({ sinceMs, expectedMs }: RecipeOutlook, nowMs: number): string {
  const since = sinceMs === null ? '' : `, asked for ${durationInWords(nowMs - sinceMs)} ago`;
  return expectedMs === null ? since : `${since}, expected in ${durationInWords(expectedMs - nowMs)}`;
}

function nextTryInWords({ nextTryAtMs }: RecipeOutlook, nowMs: number): string {
  return nextTryAtMs === null ? '' : `; it tries again in ${durationInWords(nextTryAtMs - nowMs)}`;
}
