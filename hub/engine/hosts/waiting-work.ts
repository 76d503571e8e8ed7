/** The waiting tasks that a recipe might run, by requirement. */
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import { fits } from '@workbench-hub/shared/domain/matching';
import { usableMs } from '../../core/hosts/host-end.js';
import type { RecipeToPlan, WaitingGroup } from '../../core/hosts/plan.js';
import { maxFittingKeyBytes } from '../../core/match-tasks.js';
import type { QueueGroup, TaskQueue } from '../../core/ports/task-queue.js';
import type { HostEnds } from '../scheduling/host-ends.js';

const GROUPS_PER_PAGE = 500;
/** Requirements that a plan considers: more would not change how many hosts are wanted. */
const MAX_GROUPS = 200;
/** Tasks of a requirement that are counted. */
const MAX_TASKS = 10_000;

export interface WaitingWorkOptions {
  readonly queue: Pick<TaskQueue, 'waitingGroups' | 'countWithin' | 'countByCreator'>;
  readonly ends: Pick<HostEnds, 'expectedMs' | 'medianMs' | 'alsoFor'>;
}

/** Rejects as the store does. */
export async function readWaitingWork(
  recipes: readonly RecipeToPlan[],
  options: WaitingWorkOptions,
): Promise<WaitingGroup[]> {
  const groups: WaitingGroup[] = [];
  const areByUser = recipes.some(({ limits }) => limits.perUser !== undefined);
  for (const group of await fittingGroups(recipes, options.queue)) {
    const requirement = requirementOfKey(group.requirementKey);
    const medianMs = options.ends.medianMs(group.requirementKey);
    const byUser = new Map<string | null, Map<string, number>>();
    for (const recipe of recipes) {
      if (!fitsAny(recipe, group)) continue;
      for (const [user, count] of await countsOf(group, recipe, areByUser, options)) {
        const ofUser = byUser.get(user) ?? new Map<string, number>();
        byUser.set(user, ofUser.set(recipe.name, count));
      }
    }
    for (const [forUser, waitingFor] of byUser) groups.push({ requirement, forUser, waitingFor, medianMs });
  }
  return groups;
}

/** Tasks of a group that end within the time of a recipe, by user; all of them under null, unless they are told apart. */
async function countsOf(
  { groupId, requirementKey }: QueueGroup,
  recipe: RecipeToPlan,
  areByUser: boolean,
  { queue, ends }: WaitingWorkOptions,
): Promise<Iterable<readonly [user: string | null, count: number]>> {
  const timeMs = usableMs(recipe);
  const within = {
    timeLimitS: Math.floor(timeMs / 1000),
    withoutLimit: ends.expectedMs(requirementKey) <= timeMs,
  };
  if (areByUser) return queue.countByCreator(groupId, within, MAX_TASKS / 2);
  const count = await queue.countWithin([groupId], within, MAX_TASKS);
  return count === 0 ? [] : [[null, count]];
}

async function fittingGroups(
  recipes: readonly RecipeToPlan[],
  queue: WaitingWorkOptions['queue'],
): Promise<QueueGroup[]> {
  const classes = recipes.flatMap(({ instances }) => instances.map(({ instanceClass }) => instanceClass));
  const maxKeyBytes = maxFittingKeyBytes(classes);
  const found: QueueGroup[] = [];
  let afterGroupId: number | null = 0;
  while (afterGroupId !== null && found.length < MAX_GROUPS) {
    const page = await queue.waitingGroups({ afterGroupId, limit: GROUPS_PER_PAGE, maxKeyBytes });
    found.push(...page.groups.filter((group) => recipes.some((recipe) => fitsAny(recipe, group))));
    afterGroupId = page.nextAfterGroupId;
  }
  return found.slice(0, MAX_GROUPS);
}

function fitsAny({ instances }: RecipeToPlan, { requirementKey }: QueueGroup): boolean {
  const requirement = requirementOfKey(requirementKey);
  return instances.some(({ instanceClass }) => fits(requirement, instanceClass));
}
