/** The query parameters by which tasks under `/api/x` are selected. */
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { TASK_STATUSES, TASK_TYPES } from '@workbench-hub/shared/domain/task';
import { z } from 'zod';
import type { TaskFilter } from '../../core/task-filter.js';
import { shown } from '../openapi/openapi-overrides.js';
import { enumeration, queryList, queryPattern, queryTimestamp } from '../parsing/validation.js';

export const taskFilterFields = {
  id: queryPattern().optional().meta({ description: 'Whole identifier, with the wildcards * and ?.' }),
  type: enumeration(TASK_TYPES).optional(),
  name: queryPattern()
    .optional()
    .meta({ description: 'Whole name, with the wildcards * and ?, without case.' }),
  priority: enumeration(PRIORITIES).optional(),
  creator: queryPattern().optional().meta({ description: 'Whole user name, with the wildcards * and ?.' }),
  status: queryList(enumeration(TASK_STATUSES))
    .default([])
    .meta({
      description: 'Any of these.',
      override: shown({ type: 'array', items: { type: 'string', enum: [...TASK_STATUSES] } }),
    }),
  instance: queryList(z.string())
    .default([])
    .meta({
      description: 'Any of these instances runs it, or has run it last.',
      override: shown({ type: 'array', items: { type: 'string' } }),
    }),
  from: queryTimestamp().optional().meta({
    description: 'Requested at this time or later.',
    example: '2026-11-21T06:53:00Z',
  }),
  to: queryTimestamp().optional().meta({
    description: 'Requested before this time.',
    example: '2026-11-21T06:53:00+01:00',
  }),
};

const taskFilterQuery = z.object(taskFilterFields);

export function taskFilterOf(query: z.output<typeof taskFilterQuery>): TaskFilter {
  const { id, type, name, priority, creator, status, instance, from, to } = query;
  return {
    id,
    type,
    name,
    priority,
    creator,
    statuses: status,
    instances: instance,
    requestedFromMs: from,
    requestedBeforeMs: to,
  };
}
