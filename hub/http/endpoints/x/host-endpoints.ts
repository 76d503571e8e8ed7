/** Hosts that workload managers bring, an extension of the contract (12.49). */
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import { type Caller, holdsRole } from '../../../core/access.js';
import {
  ALLOCATION_CAUSES,
  type Allocation,
  OPEN_ALLOCATION_STATES,
} from '../../../core/hosts/allocation.js';
import type { UserLimits } from '../../../core/hosts/host-recipe.js';
import { RECIPE_STATES, type RecipeView, type RecipeViews } from '../../../engine/hosts/recipe-views.js';
import { pageQuery, queryInteger } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { pageFrom, pageSchema } from '../../routing/responses/page.js';
import { shownDefault } from '../../wire/openapi-overrides.js';

const PATH = '/api/x/hosts';
const TIME = '2026-11-21T06:53:00.123';

const time = (description: string) =>
  z
    .string()
    .optional()
    .meta({ description: `${description} Local time of the hub.`, example: TIME });

const hostAllocation = z
  .object({
    id: z.string().meta({
      description: 'Name of its job, and id of its agent.',
      example: 'gears-5b2f6f1d2a77',
    }),
    state: z.enum([...OPEN_ALLOCATION_STATES, 'ENDED', 'LOST']),
    jobId: z.string().optional().meta({
      description: 'Id of its job, as the workload manager gave it. Absent before.',
      example: '4711',
    }),
    reason: z.string().meta({
      description: 'Why it was wanted.',
      example: '3 tasks wait for version 9.1, labels gears',
    }),
    forUser: z.string().optional().meta({
      description:
        'User for whose tasks it was wanted. Only by a recipe with bounds by user; absent for tasks without a creator.',
      example: 'anna',
    }),
    cause: z.enum(ALLOCATION_CAUSES).optional().meta({
      description: 'Why it is given back, or over. Absent before.',
    }),
    message: z.string().optional().meta({
      description:
        'For ADMIN: latest statement of the workload manager, or the way in which it ended, with the end of its output.',
      example: 'Priority',
    }),
    wantedAt: z.string().meta({ description: 'Local time of the hub.', example: TIME }),
    startedAt: time('When its job was seen to run.'),
    joinedAt: time('When an instance of its agent was up.'),
    endsAt: time('When the workload manager ends it.'),
    endedAt: time('Only when it is over.'),
  })
  .meta({ id: 'HostAllocation' });

const hostRecipe = z
  .object({
    name: z.string().meta({ example: 'gears' }),
    manager: z.string().meta({ description: 'Kind of the workload manager.', example: 'slurm' }),
    state: z.enum(RECIPE_STATES).meta({
      description:
        'PAUSED by an administrator. UNREACHABLE: the workload manager does not answer. FAILING: several starts in a row failed.',
    }),
    pausedBy: z.string().optional().meta({ description: 'Only while PAUSED.', example: 'anna' }),
    pausedAt: time('Only while PAUSED.'),
    message: z.string().optional().meta({
      description: 'For ADMIN: why the workload manager does not answer, or the latest start failed.',
      example: 'sbatch: error: invalid partition specified: main',
    }),
    failedStarts: z.int().meta({ description: 'Failed starts in a row.', example: 0 }),
    nextTryAt: time('Only after a failed start: no host is asked for before.'),
    instances: z.int().meta({ description: 'Instances of one allocation.', example: 2 }),
    wallTimeS: z.int().meta({ description: 'Time of one allocation, in seconds.', example: 14_400 }),
    maxAllocations: z.int().meta({ description: 'Allocations at a time.', example: 10 }),
    maxQueued: z.int().meta({ description: 'Allocations that have not started, at a time.', example: 10 }),
    hostHours: z.number().meta({
      description: 'Host-hours that its allocations ran within the last 24 hours.',
      example: 3.5,
    }),
    reservedHostHours: z.number().meta({
      description: 'Host-hours that its open allocations may still run. They count against the bound, too.',
      example: 8,
    }),
    maxHostHours: z.number().optional().meta({
      description: 'Bound of the host-hours within 24 hours. Absent without one.',
      example: 400,
    }),
    maxAllocationsPerUser: z.int().optional().meta({
      description: 'Allocations at a time for the tasks of one user. Absent without such a bound.',
      example: 4,
    }),
    maxHostHoursPerUser: z.number().optional().meta({
      description: 'Bound of the host-hours within 24 hours for the tasks of one user. Absent without one.',
      example: 48,
    }),
    allocations: z.array(hostAllocation).meta({
      description: 'Those that are open, oldest first, then the latest 20 that are over.',
    }),
  })
  .meta({ id: 'HostRecipe' });

const MAX_MONTHS = 13;
const DEFAULT_MONTHS = 12;

const hostHours = z
  .object({
    content: z.array(
      z.object({
        month: z.string().meta({ description: 'Month of the local time of the hub.', example: '2026-11' }),
        recipe: z.string().meta({ description: 'Name of the recipe.', example: 'gears' }),
        hostHours: z.number().meta({
          description: 'Host-hours that its allocations ran in this month.',
          example: 812.25,
        }),
      }),
    ),
  })
  .meta({ id: 'HostHours' });

const params = z.object({ name: z.string().meta({ description: 'Name of the recipe.', example: 'gears' }) });
const responses = {
  204: { description: 'It is done, or done as soon as the scheduling hub sees it, within seconds.' },
  404: { description: 'There is no such recipe.' },
};

export function hostEndpoints(recipes: RecipeViews): Endpoint[] {
  return [listEndpoint(recipes), hoursEndpoint(recipes), ...changeEndpoints(recipes)];
}

function listEndpoint(recipes: RecipeViews): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: PATH,
      operationId: 'listHostRecipes',
      tag: 'Administration',
      summary: 'List the recipes of hosts with their allocations, in the order of the configuration',
      description: 'A recipe says what a workload manager is asked for when tasks wait.',
      query: z.object(pageQuery),
      responses: {
        200: { description: 'One page of recipes.', schema: pageSchema(hostRecipe, 'HostRecipePage') },
      },
    },
    async ({ query, caller, context }) => {
      const page = pageFrom(await recipes.all(), query);
      return context.json({ ...page, content: page.content.map((view) => present(view, caller)) });
    },
  );
}

function hoursEndpoint(recipes: RecipeViews): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: `${PATH}/hours`,
      operationId: 'listHostHours',
      tag: 'Administration',
      summary: 'List the host-hours of each recipe by month',
      description:
        'The latest month first. Allocations are kept for 400 days; recipes that are not configured any more are listed, too.',
      query: z.object({
        months: queryInteger({ minimum: 1, maximum: MAX_MONTHS })
          .default(DEFAULT_MONTHS)
          .meta({
            description: 'Number of months, the current one among them.',
            example: DEFAULT_MONTHS,
            override: shownDefault(DEFAULT_MONTHS),
          }),
      }),
      responses: { 200: { description: 'Months and recipes with host-hours.', schema: hostHours } },
    },
    async ({ query: { months }, context }) => {
      const content = await recipes.hostHours(months);
      return context.json({
        content: content.map((each) => ({ ...each, hostHours: rounded(each.hostHours) })),
      });
    },
  );
}

function changeEndpoints(recipes: RecipeViews): Endpoint[] {
  const change = (
    action: 'pause' | 'resume' | 'drain',
    words: { readonly operationId: string; readonly summary: string; readonly description: string },
  ): Endpoint =>
    endpoint(
      {
        method: 'post',
        path: `${PATH}/{name}/${action}`,
        tag: 'Administration',
        params,
        responses,
        ...words,
      },
      async ({ params: { name }, caller, context }) => {
        await recipes[action](name, caller.username);
        return context.body(null, 204);
      },
    );
  return [
    change('pause', {
      operationId: 'pauseHostRecipe',
      summary: 'Bring no more hosts by a recipe',
      description: 'Those that are there stay. Pausing a paused recipe changes only who paused it.',
    }),
    change('resume', {
      operationId: 'resumeHostRecipe',
      summary: 'Bring hosts by a recipe again',
      description: 'Resuming a recipe that is not paused changes nothing.',
    }),
    change('drain', {
      operationId: 'drainHostRecipe',
      summary: 'Give all present hosts of a recipe back',
      description: 'Each goes when no task runs there. Others may come: pause the recipe first to have none.',
    }),
  ];
}

function present(view: RecipeView, caller: Caller) {
  const { recipe, state, pausedBy, pausedAtMs, message, failed, allocations } = view;
  const { limits } = recipe;
  const isAdmin = holdsRole(caller, 'ADMIN');
  return {
    name: recipe.name,
    manager: recipe.manager,
    state,
    ...(pausedBy !== null && { pausedBy }),
    ...(pausedAtMs !== null && { pausedAt: localTimestamp(pausedAtMs) }),
    ...(isAdmin && message !== null && { message }),
    failedStarts: failed.count,
    ...(failed.count > 0 && { nextTryAt: localTimestamp(failed.nextTryAtMs) }),
    instances: recipe.instances.reduce((sum, { count }) => sum + count, 0),
    wallTimeS: Math.round(recipe.wallTimeMs / 1000),
    maxAllocations: limits.allocations,
    maxQueued: limits.queued,
    hostHours: rounded(view.hostHours),
    reservedHostHours: rounded(view.reservedHostHours),
    ...(limits.hostHoursPerDay !== null && { maxHostHours: limits.hostHoursPerDay }),
    ...presentUserLimits(limits.perUser),
    allocations: allocations.map((allocation) => presentAllocation(allocation, isAdmin)),
  };
}

function presentUserLimits({ allocations = null, hostHoursPerDay = null }: Partial<UserLimits> = {}) {
  return {
    ...(allocations !== null && { maxAllocationsPerUser: allocations }),
    ...(hostHoursPerDay !== null && { maxHostHoursPerUser: hostHoursPerDay }),
  };
}

function rounded(hours: number): number {
  return Math.round(hours * 1000) / 1000;
}

function presentAllocation(allocation: Allocation, isAdmin: boolean) {
  const { id, state, jobId, reason, forUser, cause, message, wantedAtMs } = allocation;
  const times = {
    startedAt: allocation.startedAtMs,
    joinedAt: allocation.joinedAtMs,
    endsAt: allocation.endsAtMs,
    endedAt: allocation.endedAtMs,
  };
  return {
    ...{ id, state, reason },
    ...(jobId !== null && { jobId }),
    // Tasks without a creator have the empty one.
    ...(forUser && { forUser }),
    ...(cause !== null && { cause }),
    ...(isAdmin && message !== null && { message }),
    wantedAt: localTimestamp(wantedAtMs),
    ...Object.fromEntries(
      Object.entries(times).flatMap(([name, atMs]) => (atMs === null ? [] : [[name, localTimestamp(atMs)]])),
    ),
  };
}
