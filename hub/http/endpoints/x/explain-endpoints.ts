/** Explanation of why a task waits, and a dry run for a new one: extensions of the contract. */
import { modelTypeOfName } from '@workbench-hub/shared/domain/job';
import { RECIPE_OBSTACLES } from '@workbench-hub/shared/domain/lent-recipe';
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { TASK_STATUSES } from '@workbench-hub/shared/domain/task';
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import { invalidInput } from '../../../core/errors.js';
import type { RecipeOutlook } from '../../../core/host-outlook.js';
import { describeState } from '../../../core/task-message.js';
import type { Explanation } from '../../../core/wait-estimate.js';
import { CRITERION_TYPES, VERDICTS } from '../../../core/wait-reason.js';
import type { Tasks } from '../../../engine/tasks/tasks.js';
import type { Explanations } from '../../../engine/waiting/explanations.js';
import {
  classifiersSchema,
  idParams,
  modelReferenceSchema,
  modelTypeSchema,
} from '../../requests/parsing/request-schemas.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { shownWithoutNull } from '../../wire/openapi-overrides.js';
import { kindsSchema } from '../common/job-kind-schemas.js';
import { endingSchema, keptSchema, presentCounts } from './fitting-instances.js';
import { requirementSchema } from './task-schemas.js';

const criterion = z
  .object({ type: z.enum(CRITERION_TYPES), value: z.string() })
  .meta({ id: 'Criterion', example: { type: 'LABLES', value: 'gears' } });

const time = (description: string) =>
  z
    .string()
    .meta({ description: `${description} Local time of the hub.`, example: '2026-11-21T06:53:00.123' });

const explanationFields = {
  verdict: z.enum(VERDICTS).meta({
    description:
      'NEVER: no known instance fits. NONE_UP: those that fit are down, unreachable, kept, of drained agents, or on hosts with too little time. ' +
      'COMING: the same, but a recipe can bring hosts. BUSY: they work, or other tasks come first. SOON: an instance is idle. PAUSED: a shutdown ' +
      'is being prepared.',
  }),
  unsatisfied: z.array(criterion).meta({ description: 'Criteria that no known instance satisfies.' }),
  instances: z.object({
    known: z.int(),
    satisfyingAll: z.int(),
    satisfyingAllButOne: z
      .array(z.object({ missing: criterion, instances: z.int() }))
      .meta({ description: 'How many instances would fit but for this one criterion.' }),
    idle: z.int().meta({ description: 'Instances that satisfy all and are idle.' }),
    busy: z.int(),
    kept: keptSchema,
    ending: endingSchema,
    down: z.int().meta({
      description: 'Including those whose host has returned the task, as long as another host may get it.',
    }),
    unreachable: z.int(),
    drained: z.int().meta({ description: 'Instances of drained agents, whatever their status.' }),
  }),
  tasksAhead: z.int().meta({
    description: 'Waiting tasks ahead in the queue that the same instances could run, counted up to 10000.',
  }),
  kinds: kindsSchema.optional(),
  exclusions: z
    .array(z.object({ agentId: z.string(), reason: z.string(), at: time('When.') }))
    .optional()
    .meta({ description: 'Agents that recently returned the task, for example because of a full disk.' }),
  drains: z
    .array(z.object({ agentId: z.string(), by: z.string(), since: time('When.') }))
    .optional()
    .meta({ description: 'Drained agents with instances that satisfy all.' }),
  hosts: z
    .array(
      z.object({
        recipe: z.string(),
        coming: z
          .int()
          .min(0)
          .meta({ description: 'Hosts that were asked for and whose agents have not joined.' }),
        since: time('When the first of them was asked for.').optional(),
        expected: time(
          'When it is expected, as earlier ones were; absent while too few are known, while the workload manager does not answer, and ' +
            'when it is overdue.',
        ).optional(),
        obstacle: z
          .enum(RECIPE_OBSTACLES)
          .optional()
          .meta({
            description:
              'Why the recipe brings no more hosts for the task. PAUSED: by an administrator. UNREACHABLE: its workload manager does not answer. ' +
              'FAILED_STARTS: the latest starts have failed. MAX_ALLOCATIONS, HOST_HOURS: a bound is reached. ' +
              'USER_ALLOCATIONS, USER_HOST_HOURS: the user of the task has reached a bound. TIME: its hosts have too little time.',
          }),
        nextTry: time('When it tries again after failed starts.').optional(),
      }),
    )
    .optional()
    .meta({ description: 'Recipes of hosts with instances that fit; absent for none.' }),
  neverSince: time('Time since which no known instance fits; only for NEVER.').optional(),
  estimatedStart: z
    .object({
      expected: time('Most likely start.'),
      earliest: time('Hardly before.'),
      latest: time('Hardly after.'),
      measuredRuns: z.int().meta({ description: 'Number of measured run times that it is based on.' }),
    })
    .optional()
    .meta({ description: 'Absent while too few run times have been measured.' }),
};

const message = z.string().meta({ description: 'The same in words.' });

const taskExplanation = z
  .object({
    id: z.string(),
    status: z.enum(TASK_STATUSES),
    message,
    ...z.object(explanationFields).partial().shape,
  })
  .meta({ id: 'TaskExplanation', description: 'For a task that does not wait, only its status in words.' });

const dryRun = z
  .object({
    message,
    priority: z.enum(PRIORITIES),
    requirement: requirementSchema,
    ...explanationFields,
  })
  .meta({ id: 'DryRunExplanation' });

const dryRunRequest = z
  .object({
    classifiers: classifiersSchema,
    inputModel: z.object({ type: modelTypeSchema }).nullish().meta({
      description: 'The model, of which only the type matters.',
      override: shownWithoutNull,
    }),
    inputModelReference: modelReferenceSchema.nullish().meta({
      description: 'The model, of which only the ending of its name matters.',
      override: shownWithoutNull,
    }),
  })
  .meta({ id: 'DryRunRequest' });

export function explainEndpoints(tasks: Tasks, explanations: Explanations): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: '/api/x/tasks/{id}/explain',
        tag: 'Explanations',
        operationId: 'explainTask',
        summary: 'Why a task waits',
        description:
          'Compares what the task requires with the known workbench instances, and estimates its start.',
        params: idParams,
        responses: {
          200: { description: 'The reason why it does not run.', schema: taskExplanation },
          404: { description: 'There is no such task.' },
        },
      },
      async ({ params, context }) => {
        const task = await tasks.get(params.id);
        const { id, status } = task;
        if (status !== 'WAITING') return context.json({ id, status, message: describeState(task) });
        return context.json({ id, status, ...present(await explanations.ofTask(task)) });
      },
    ),
    endpoint(
      {
        method: 'post',
        path: '/api/x/explain',
        tag: 'Explanations',
        operationId: 'explainRequest',
        summary: 'When a task would run if it were created now',
        description:
          'Takes the body of a create request, of which only the classifiers and the type of the model matter. Nothing is created.',
        body: dryRunRequest,
        responses: { 200: { description: 'The expected wait.', schema: dryRun } },
      },
      async ({ body, context }) => {
        const classifiers = body.classifiers ?? [];
        const errors = tasks.classifierErrors(classifiers);
        if (errors.length > 0) throw invalidInput(errors);
        const explanation = await explanations.ofRequest(classifiers, requestedModelType(body));
        const { requirement, priority } = explanation;
        return context.json({ requirement, priority, ...present(explanation) });
      },
    ),
  ];
}

function requestedModelType({
  inputModel,
  inputModelReference,
}: z.output<typeof dryRunRequest>): string | null {
  if (inputModel) return inputModel.type;
  const named = inputModelReference?.parameters.find(({ key }) => key === 'name' || key === 'pathToFile');
  return named ? modelTypeOfName(named.value) : null;
}

function present({ verdict, message: words, fitting, estimate, ...facts }: Explanation) {
  return {
    verdict,
    message: words,
    unsatisfied: facts.unsatisfied,
    instances: {
      known: facts.knownInstances,
      satisfyingAll: facts.satisfyingAll,
      satisfyingAllButOne: facts.satisfyingAllButOne,
      ...presentCounts(fitting),
    },
    tasksAhead: facts.tasksAhead,
    ...(facts.kinds.length === 0 ? {} : { kinds: facts.kinds }),
    ...(facts.exclusions.length === 0
      ? {}
      : {
          exclusions: facts.exclusions.map(({ agentId, reason, atMs }) => ({
            agentId,
            reason,
            at: localTimestamp(atMs),
          })),
        }),
    ...(facts.drains.length === 0
      ? {}
      : {
          drains: facts.drains.map(({ agentId, by, sinceMs }) => ({
            agentId,
            by,
            since: localTimestamp(sinceMs),
          })),
        }),
    ...(facts.outlooks.length === 0 ? {} : { hosts: facts.outlooks.map(presentOutlook) }),
    ...(facts.unfittingSinceMs === null ? {} : { neverSince: localTimestamp(facts.unfittingSinceMs) }),
    ...(estimate === null
      ? {}
      : {
          estimatedStart: {
            expected: localTimestamp(estimate.expectedMs),
            earliest: localTimestamp(estimate.earliestMs),
            latest: localTimestamp(estimate.latestMs),
            measuredRuns: estimate.measuredRuns,
          },
        }),
  };
}

function presentOutlook({ recipe, coming, sinceMs, expectedMs, obstacle, nextTryAtMs }: RecipeOutlook) {
  return {
    ...{ recipe, coming },
    ...(sinceMs === null ? {} : { since: localTimestamp(sinceMs) }),
    ...(expectedMs === null ? {} : { expected: localTimestamp(expectedMs) }),
    ...(obstacle === null ? {} : { obstacle }),
    ...(nextTryAtMs === null ? {} : { nextTry: localTimestamp(nextTryAtMs) }),
  };
}
