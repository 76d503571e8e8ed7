/** Why a task waits, and how one would fare: additions of this product beside the contract. */
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { TASK_STATUSES } from '@workbench-hub/shared/domain/task';
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import { invalidInput } from '../../core/errors.js';
import { type Explanation, VERDICTS } from '../../core/explain.js';
import { describeState } from '../../core/task-message.js';
import type { Explanations } from '../../engine/explanations.js';
import type { Tasks } from '../../engine/tasks.js';
import { type Endpoint, endpoint } from '../endpoint.js';
import { classifiersSchema, idParams } from '../request-schemas.js';

const criterion = z
  .object({ type: z.enum(['VERSION', 'LABLES']), value: z.string() })
  .meta({ id: 'Criterion', example: { type: 'LABLES', value: 'gears' } });

const time = (description: string) =>
  z
    .string()
    .meta({ description: `${description} Local time of the hub.`, example: '2026-11-21T06:53:00.123' });

const explanationFields = {
  verdict: z.enum(VERDICTS).meta({
    description:
      'NEVER: no known instance fits. NONE_UP: those that fit are down or unreachable. BUSY: they work, or other tasks ' +
      'come first. SOON: an instance is free. PAUSED: a shutdown is being prepared.',
  }),
  unsatisfied: z.array(criterion).meta({ description: 'What no known instance offers at all.' }),
  instances: z.object({
    known: z.int(),
    satisfyingAll: z.int(),
    satisfyingAllButOne: z
      .array(z.object({ missing: criterion, instances: z.int() }))
      .meta({ description: 'How many instances would fit but for this one criterion.' }),
    idle: z.int().meta({ description: 'Of those that satisfy all: free to begin.' }),
    busy: z.int(),
    down: z.int().meta({
      description: 'Also those whose host has given the task back, as long as another host may get it.',
    }),
    unreachable: z.int(),
  }),
  tasksAhead: z
    .int()
    .meta({
      description:
        'Waiting tasks that come first and that the same instances could run, counted up to 10000.',
    }),
  exclusions: z
    .array(z.object({ agentId: z.string(), reason: z.string(), at: time('When.') }))
    .optional()
    .meta({ description: 'Agents that gave the task back of late, because of a full disk for instance.' }),
  neverSince: time('Since when no known instance has fitted; only for NEVER.').optional(),
  estimatedStart: z
    .object({
      expected: time('Most likely start.'),
      earliest: time('Hardly before.'),
      latest: time('Hardly after.'),
      measuredRuns: z.int().meta({ description: 'How many measured run times it rests on.' }),
    })
    .optional()
    .meta({ description: 'Absent as long as too few run times have been measured.' }),
};

const message = z.string().meta({ description: 'The same in words.' });

const taskExplanation = z
  .object({
    id: z.string(),
    status: z.enum(TASK_STATUSES),
    message,
    ...z.object(explanationFields).partial().shape,
  })
  .meta({ id: 'TaskExplanation', description: 'Of a task that does not wait: its status in words only.' });

const dryRun = z
  .object({
    message,
    priority: z.enum(PRIORITIES),
    requirement: z.object({ version: z.string().nullable(), labels: z.array(z.string()) }),
    ...explanationFields,
  })
  .meta({ id: 'DryRunExplanation' });

const dryRunRequest = z.object({ classifiers: classifiersSchema }).meta({ id: 'DryRunRequest' });

export function explainEndpoints(tasks: Tasks, explanations: Explanations): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: '/api/x/tasks/{id}/explain',
        tag: 'Explanations',
        summary: 'Why a task waits',
        params: idParams,
        responses: {
          200: { description: 'What keeps it from running.', schema: taskExplanation },
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
        summary: 'How a task would fare if it were handed in now',
        description:
          'Takes the body of a create request, of which only the classifiers matter. Nothing is created.',
        body: dryRunRequest,
        responses: { 200: { description: 'What would await it.', schema: dryRun } },
      },
      async ({ body, context }) => {
        const classifiers = body.classifiers ?? [];
        const faults = tasks.classifierFaults(classifiers);
        if (faults.length > 0) throw invalidInput(faults);
        const explanation = await explanations.ofClassifiers(classifiers);
        const { requirement, priority } = explanation;
        return context.json({ requirement, priority, ...present(explanation) });
      },
    ),
  ];
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
      ...fitting,
    },
    tasksAhead: facts.tasksAhead,
    ...(facts.exclusions.length === 0
      ? {}
      : {
          exclusions: facts.exclusions.map(({ agentId, reason, atMs }) => ({
            agentId,
            reason,
            at: localTimestamp(atMs),
          })),
        }),
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
