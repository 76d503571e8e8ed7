/** Cancel and delete of all tasks that match a filter (contract 12.13). */
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { TASK_STATUSES, TASK_TYPES } from '@workbench-hub/shared/domain/task';
import { isPatternTooLong, MAX_PATTERN_LENGTH, withSingleStars } from '@workbench-hub/shared/domain/wildcard';
import { z } from 'zod';
import type { TaskFilter } from '../../../core/task-filter.js';
import type { BulkAction, BulkChanges } from '../../../engine/tasks/bulk-changes.js';
import type { Tasks } from '../../../engine/tasks/tasks.js';
import { enumeration } from '../../requests/parsing/validation.js';
import { type Endpoint, type EndpointInput, endpoint } from '../../routing/endpoint.js';
import { shown, shownWithoutNull } from '../../wire/openapi-overrides.js';
import { listClient } from '../common/list-client.js';
import { patternFields, patternsOf } from '../common/task-fields.js';
import { presentTaskItem } from './present-task.js';
import { STUDY_DESCRIPTION, STUDY_ERROR, studyOf, studyText } from './task-filter-query.js';
import { taskItem } from './task-schemas.js';

const MAX_TASKS = 10_000;

const pattern = (description: string) =>
  z
    .string()
    .refine((text) => !isPatternTooLong(text), {
      error: `with wildcards must have at most ${MAX_PATTERN_LENGTH} characters`,
    })
    .transform(withSingleStars)
    .nullish()
    .meta({ description, override: shownWithoutNull });

const TIMESTAMP = 'must be a timestamp such as 2026-11-21T06:53:00Z or 2026-11-21T06:53:00.123+01:00';
const timestamp = (description: string) =>
  z.iso
    .datetime({ offset: true, error: TIMESTAMP })
    .transform((text) => Date.parse(text))
    .nullish()
    .meta({
      description,
      example: '2026-11-21T06:53:00Z',
      override: shown({ type: 'string', format: 'date-time' }),
    });

/** Refusal of an empty list, which would match every task, as a filter without the field does. */
const NOT_EMPTY = { error: 'must have at least one element; leave the field out to match any' };

const conditions = {
  ...patternFields(pattern),
  type: enumeration(TASK_TYPES).nullish().meta({ override: shownWithoutNull }),
  priority: enumeration(PRIORITIES).nullish().meta({ override: shownWithoutNull }),
  status: z
    .array(enumeration(TASK_STATUSES))
    .min(1, NOT_EMPTY)
    .nullish()
    .meta({ description: 'Any of these.', override: shownWithoutNull }),
  instance: z.array(z.string()).min(1, NOT_EMPTY).max(1000).nullish().meta({
    description: 'Any of these instances runs it, or has run it last.',
    override: shownWithoutNull,
  }),
  study: studyText(STUDY_ERROR)
    .nullish()
    .meta({ description: STUDY_DESCRIPTION, override: shown({ type: 'string' }) }),
  from: timestamp('Requested at this time or later.'),
  to: timestamp('Requested before this time.'),
};

/** An unknown condition is refused: without it, more tasks would match. */
const filterSchema = z
  .strictObject(conditions, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `has the unknown condition ${issue.keys.join(', ')}; known are ${Object.keys(conditions).join(', ')}`
        : undefined,
  })
  .meta({ id: 'TaskFilter', description: 'Tasks match every given condition. Without any, all match.' });

const requestFields = {
  filter: filterSchema,
  dryRun: z.boolean().meta({ description: 'Whether to say only what would happen.', example: true }),
};

const cancelRequest = z
  .object({
    ...requestFields,
    force: z.boolean().nullish().meta({
      description: 'Also end running tasks, on their instances.',
      example: false,
      override: shownWithoutNull,
    }),
  })
  .meta({ id: 'CancelTasksRequest' });

const deleteRequest = z.object(requestFields).meta({ id: 'DeleteTasksRequest' });

const outcome = z
  .object({
    dryRun: z.boolean(),
    matched: z.int().meta({
      description: `Tasks that match, are in a status that permits it, and are the caller's; at most ${MAX_TASKS}.`,
      example: 12,
    }),
    changed: z.int().meta({
      description: 'Tasks that were changed; 0 in a dry run. Others have changed by themselves meanwhile.',
      example: 12,
    }),
    more: z
      .boolean()
      .meta({ description: `Whether there may be more than ${MAX_TASKS}: then repeat the request.` }),
    tasks: z
      .array(taskItem)
      .meta({ description: 'The first 100 of them, newest first, as they were before.' }),
  })
  .meta({ id: 'BulkOutcome' });

const responses = { 200: { description: 'The tasks that were, or would be, changed.', schema: outcome } };

type BulkBody = { readonly filter: z.output<typeof filterSchema>; readonly dryRun: boolean };

export function bulkEndpoints(bulk: BulkChanges, tasks: Pick<Tasks, 'waitReason'>): Endpoint[] {
  const perform = async (action: BulkAction, input: EndpointInput<unknown, unknown, BulkBody>) => {
    const { body, caller, context, reauthorize, audit } = input;
    const { matched, changed, hasMore, examples } = await bulk.perform({
      action,
      filter: filterOf(body.filter),
      caller,
      isDryRun: body.dryRun,
      limit: MAX_TASKS,
      client: listClient(input),
      reauthorize,
    });
    audit.detail =
      `${body.dryRun ? 'dry run' : `${changed} tasks`}, filter ${JSON.stringify(body.filter)}`.slice(0, 1000);
    return context.json({
      dryRun: body.dryRun,
      matched,
      changed,
      more: hasMore,
      tasks: examples.map((task) => presentTaskItem(task, tasks.waitReason(task))),
    });
  };
  return [
    endpoint(
      {
        method: 'post',
        path: '/api/x/tasks/cancel',
        tag: 'Tasks',
        operationId: 'cancelTasks',
        summary: 'Cancel all tasks that match a filter',
        description: `At most ${MAX_TASKS} a request. The role USER cancels its own tasks only; those of others do not match.`,
        body: cancelRequest,
        responses,
      },
      (input) => perform(input.body.force === true ? 'CANCEL_BY_FORCE' : 'CANCEL', input),
    ),
    endpoint(
      {
        method: 'post',
        path: '/api/x/tasks/delete',
        tag: 'Tasks',
        operationId: 'deleteTasks',
        summary: 'Delete all ended tasks that match a filter, with their results',
        description: `At most ${MAX_TASKS} a request. The role USER deletes its own tasks only; those of others do not match.`,
        body: deleteRequest,
        responses,
      },
      (input) => perform('REMOVE', input),
    ),
  ];
}

function filterOf(filter: z.output<typeof filterSchema>): TaskFilter {
  const { type, priority, status, instance, study, from, to } = filter;
  return {
    ...patternsOf(filter),
    type: type ?? undefined,
    priority: priority ?? undefined,
    statuses: status ?? [],
    instances: instance ?? [],
    study: studyOf(study),
    requestedFromMs: from ?? undefined,
    requestedBeforeMs: to ?? undefined,
  };
}
