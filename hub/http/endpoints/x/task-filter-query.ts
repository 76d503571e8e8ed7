/** The query parameters by which tasks under `/api/x` are selected. */
import { z } from 'zod';
import type { TaskFilter } from '../../../core/task-filter.js';
import { queryList, queryTimestamp } from '../../requests/parsing/validation.js';
import { shown } from '../../wire/openapi-overrides.js';
import { commonFilterFields, patternsOf } from '../common/task-fields.js';

/** Word of the filter for tasks that no study created. */
const NO_STUDY = 'none';

const STUDY = new RegExp(`^([\\da-f]{8}(-[\\da-f]{4}){3}-[\\da-f]{12}|${NO_STUDY})$`);

/** A study to filter by. */
export function studyText(error: string) {
  return z.string({ error }).regex(STUDY, { error });
}

export const STUDY_DESCRIPTION = `Id of a study: the tasks of its points. \`${NO_STUDY}\`: the tasks that are no points.`;
export const STUDY_ERROR = `must be the id of a study, or ${NO_STUDY}`;

/** The study of a filter. */
export function studyOf(given: string | null | undefined): TaskFilter['study'] {
  return given === NO_STUDY ? null : (given ?? undefined);
}

export const taskFilterFields = {
  ...commonFilterFields,
  instance: queryList(z.string())
    .default([])
    .meta({
      description: 'Any of these instances runs it, or has run it last.',
      override: shown({ type: 'array', items: { type: 'string' } }),
    }),
  study: studyText(`${STUDY_ERROR}, given once`)
    .optional()
    .meta({ description: STUDY_DESCRIPTION, override: shown({ type: 'string' }) }),
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
  const { type, priority, status, instance, study, from, to } = query;
  return {
    ...patternsOf(query),
    type,
    priority,
    statuses: status,
    instances: instance,
    study: studyOf(study),
    requestedFromMs: from,
    requestedBeforeMs: to,
  };
}
