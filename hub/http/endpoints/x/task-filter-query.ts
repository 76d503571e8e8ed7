/** The query parameters by which tasks under `/api/x` are selected. */
import { z } from 'zod';
import type { TaskFilter } from '../../../core/task-filter.js';
import { queryList, queryTimestamp } from '../../requests/parsing/validation.js';
import { shown } from '../../wire/openapi-overrides.js';
import { commonFilterFields, patternsOf } from '../common/task-fields.js';

export const taskFilterFields = {
  ...commonFilterFields,
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
  const { type, priority, status, instance, from, to } = query;
  return {
    ...patternsOf(query),
    type,
    priority,
    statuses: status,
    instances: instance,
    requestedFromMs: from,
    requestedBeforeMs: to,
  };
}
