/** The waiting tasks that a recipe might run, by requirement. */
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import { fits } from '@workbench-hub/shared/domain/matching';
import { usableMs } from '../../core/hosts/host-end.js';
import type { HostRecipe } from '../../core/hosts/host-recipe.js';
import type { WaitingGroup } from '../../core/hosts/plan.js';
import { maxFittingKeyBytes } from '../../core/match-tasks.js';
import type { QueueGroup, TaskQueue } from '../../core/ports/task-queue.js';
import type { HostEnds } from '../scheduling/host-ends.js';

const GROUPS_PER_PAGE = 500;
/** Requirements that a plan considers: more would not change how many hosts are wanted. */
const MAX_GROUPS = 200;
/** Tasks of a requirement that are counted. */
const MAX_TASKS = 10_000;

export interface WaitingWorkOptions {
  readonly queue: Pick<TaskQueue, 'waitingGroups' | 'countWithin'>;
  readonly ends: Pick<HostEnds, 'expectedMs' | 'medianMs'>;
}

/** Rejects as the store does. */
export async function readWaitingWork(
  recipes: readonly HostRecipe[],
  { queue, ends }: WaitingWorkOptions,
): Promise<WaitingGroup[]> {
  const groups: WaitingGroup[] = [];
  for (const group of await fittingGroups(recipes, queue)) {
    const { groupId, requirementKey } = group;
    const requirement = requirementOfKey(requirementKey);
    const expectedMs = ends.expectedMs(requirementKey);
    const waitingFor = new Map<string, number>();
    for (const recipe of recipes) {
      const timeMs = usableMs(recipe);
      if (!fitsAny(recipe, group)) continue;
      const within = { timeLimitS: Math.floor(timeMs / 1000), withoutLimit: expectedMs <= timeMs };
      const count = await queue.countWithin([groupId], within, MAX_TASKS);
      if (count > 0) waitingFor.set(recipe.name, count);
    }
    if (waitingFor.size > 0)
      groups.push({ requirement, waitingFor, medianMs: ends.medianMs(requirementKey) });
  }
  return groups;
}

async function fittingGroups(
  recipes: readonly HostRecipe[],
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

function fitsAny({ instances }: HostRecipe, { requirementKey }: QueueGroup): boolean {
  const requirement = requirementOfKey(requirementKey);
  return instances.some(({ instanceClass }) => fits(requirement, instanceClass));
}
