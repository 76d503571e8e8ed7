/** Query parameters by which lists of tasks are filtered in every API version that has filters (contract 5.5). */
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { TASK_STATUSES, TASK_TYPES } from '@workbench-hub/shared/domain/task';
import { enumeration, queryList, queryPattern } from '../../requests/parsing/validation.js';
import { shown } from '../../wire/openapi-overrides.js';

export const commonFilterFields = {
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
};
