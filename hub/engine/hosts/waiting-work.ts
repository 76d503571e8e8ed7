/** The waiting tasks that a recipe might run, by requirement. */
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import { fits } from '@workbench-hub/shared/domain/matching';
import { usableMs } from '../../core/hosts/host-end.js';
import type { RecipeToPlan, WaitingGroup } from '../../core/hosts/plan.js';
import { maxFittingKeyBytes } from '../../core/match-tasks.js';
import type { QueueGroup, TaskQueue } from '../../core/ports/task-queue.js';
import type { HostEnds } from '../scheduling/host-ends.js';

const GROUPS_PER_PAGE = 500;
/** Requirements that a plan considers for a recipe, besides those whose users get no more of its hosts: more would hardly change how many are wanted. */
const MAX_GROUPS_OF_RECIPE = 200;
/** Requirements whose tasks a plan counts; those beyond wait until others are gone. */
const MAX_GROUPS = 1000;
/** Tasks of a requirement that are looked at. */
const MAX_TASKS = 10_000;

export interface WaitingWorkOptions {
  readonly queue: Pick<TaskQueue, 'waitingGroups' | 'countWithin' | 'countByCreator'>;
  readonly ends: Pick<HostEnds, 'expectedMs' | 'medianMs' | 'alsoFor'>;
  /** Whether the bounds by user of a recipe permit another allocation for a user; null for all users. */
  readonly hasRoom: (recipe: string, user: string | null) => boolean;
}

/** Rejects as the store does. */
export async function readWaitingWork(
  recipes: readonly RecipeToPlan[],
  options: WaitingWorkOptions,
): Promise<WaitingGroup[]> {
  const groups: WaitingGroup[] = [];
  const areByUser = recipes.some(({ limits }) => limits.perUser !== undefined);
  const considered = new Map<string, number>();
  const isOpen = ({ name }: RecipeToPlan) => (considered.get(name) ?? 0) < MAX_GROUPS_OF_RECIPE;
  let counted = 0;
  for await (const group of fittingGroups(recipes, options.queue)) {
    if (counted === MAX_GROUPS || !recipes.some(isOpen)) break;
    const fitting = recipes.filter((recipe) => fitsAny(recipe, group));
    if (!fitting.some(isOpen)) continue;
    counted++;
    const ofGroup = await waitingGroupsOf(group, fitting, areByUser, options);
    const mayWant = ofGroup.flatMap(({ forUser, waitingFor }) =>
      [...waitingFor.keys()].filter((name) => options.hasRoom(name, forUser)),
    );
    for (const name of new Set(mayWant)) considered.set(name, (considered.get(name) ?? 0) + 1);
    groups.push(...ofGroup);
  }
  return groups;
}

/** The tasks of one requirement; by user, if a recipe has bounds by user. */
async function waitingGroupsOf(
  group: QueueGroup,
  recipes: readonly RecipeToPlan[],
  areByUser: boolean,
  options: WaitingWorkOptions,
): Promise<WaitingGroup[]> {
  const requirement = requirementOfKey(group.requirementKey);
  const medianMs = options.ends.medianMs(group.requirementKey);
  const byUser = new Map<string | null, Map<string, number>>();
  for (const recipe of recipes) {
    for (const [user, count] of await countsOf(group, recipe, areByUser, options)) {
      const ofUser = byUser.get(user) ?? new Map<string, number>();
      byUser.set(user, ofUser.set(recipe.name, count));
    }
  }
  return [...byUser].map(([forUser, waitingFor]) => ({ requirement, forUser, waitingFor, medianMs }));
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
  const count = await queue.countWithin(groupId, within, MAX_TASKS);
  return count === 0 ? [] : [[null, count]];
}

async function* fittingGroups(
  recipes: readonly RecipeToPlan[],
  queue: WaitingWorkOptions['queue'],
): AsyncGenerator<QueueGroup> {
  const classes = recipes.flatMap(({ instances }) => instances.map(({ instanceClass }) => instanceClass));
  const maxKeyBytes = maxFittingKeyBytes(classes);
  let afterGroupId: number | null = 0;
  while (afterGroupId !== null) {
    const page = await queue.waitingGroups({ afterGroupId, limit: GROUPS_PER_PAGE, maxKeyBytes });
    for (const group of page.groups) if (recipes.some((recipe) => fitsAny(recipe, group))) yield group;
    afterGroupId = page.nextAfterGroupId;
  }
}

function fitsAny({ instances }: RecipeToPlan, { requirementKey }: QueueGroup): boolean {
  const requirement = requirementOfKey(requirementKey);
  return instances.some(({ instanceClass }) => fits(requirement, instanceClass));
}
