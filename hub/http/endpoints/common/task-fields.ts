/** Fields of a task that 2.x and `/api/x` show and filter by in the same way (contract 2.1, 5.5). */
import { PRIORITIES } from '@workbench-hub/shared/domain/priority';
import { TASK_STATUSES, TASK_TYPES } from '@workbench-hub/shared/domain/task';
import { z } from 'zod';
import type { Task } from '../../../core/task.js';
import { SEARCHED_TEXTS, type SearchedField, type TaskFilter } from '../../../core/task-filter.js';
import { enumeration, queryList, queryPattern } from '../../requests/parsing/validation.js';
import { shown } from '../../wire/openapi-overrides.js';

/** Descriptions of the patterns by which texts are searched. */
const PATTERNS = {
  id: 'Whole identifier, with the wildcards * and ?.',
  name: 'Whole name, with the wildcards * and ?, without case.',
  creator: 'Whole user name, with the wildcards * and ?.',
  note: 'Whole note, with the wildcards * and ?, without case.',
} satisfies Record<SearchedField, string>;

/** Schemas of the texts that are shown as they are, and absent for a task without them. */
export const textFields = {
  name: z.string().optional(),
  creator: z.string().optional().meta({ description: 'Present when security is enabled.' }),
  note: z.string().optional().meta({ description: 'Text of the creator about the task.' }),
} satisfies Partial<Record<keyof Task, z.ZodType>>;

const SHOWN_TEXTS = Object.keys(textFields) as (keyof typeof textFields)[];

/** The texts of a task for {@link textFields}. */
export function presentTexts(task: Task): { readonly [Field in keyof typeof textFields]?: string } {
  const texts: { [Field in keyof typeof textFields]?: string } = {};
  for (const field of SHOWN_TEXTS) {
    const text = task[field];
    if (text !== null) texts[field] = text;
  }
  return texts;
}

/** A schema for each text that a filter searches. */
export function patternFields<Schema>(
  schemaOf: (description: string) => Schema,
): Record<SearchedField, Schema> {
  const fields = Object.entries(PATTERNS).map(([field, description]) => [field, schemaOf(description)]);
  return Object.fromEntries(fields) as Record<SearchedField, Schema>;
}

/** The patterns of a filter. */
export function patternsOf(
  given: Readonly<Partial<Record<SearchedField, string | null | undefined>>>,
): Pick<TaskFilter, SearchedField> {
  return Object.fromEntries(SEARCHED_TEXTS.map(({ field }) => [field, given[field] ?? undefined]));
}

/** Query parameters of filters in every API version that has any. */
export const commonFilterFields = {
  ...patternFields((description) => queryPattern().optional().meta({ description })),
  type: enumeration(TASK_TYPES).optional(),
  priority: enumeration(PRIORITIES).optional(),
  status: queryList(enumeration(TASK_STATUSES))
    .default([])
    .meta({
      description: 'Any of these.',
      override: shown({ type: 'array', items: { type: 'string', enum: [...TASK_STATUSES] } }),
    }),
};
