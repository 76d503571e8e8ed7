/** Building blocks of request schemas, and the wording of validation errors. */
import { pathText } from '@workbench-hub/shared/config/validation-errors';
import { isPatternTooLong, MAX_PATTERN_LENGTH, withSingleStars } from '@workbench-hub/shared/domain/wildcard';
import { z } from 'zod';
import { invalidInput, type ValidationError } from '../../../core/errors.js';
import { shown, shownDefault } from '../../wire/openapi-overrides.js';

/** Settings of zod. It copies them for each input and sets `async`, which takes several times as long where that is missing. */
const PARSING = { reportInput: true, async: false };

/** Parses `input`; throws INVALID_INPUT that names each wrong field and what is allowed. */
export function validated<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input, PARSING);
  if (result.success) return result.data;
  throw invalidInput(result.error.issues.map(errorOf));
}

function errorOf(issue: z.core.$ZodIssue): ValidationError {
  const where = pathText(issue.path) || 'body';
  return {
    where,
    what: issue.input === undefined && issue.code === 'invalid_type' ? 'is required' : wording(issue),
  };
}

function wording(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.startsWith('Invalid input')
        ? `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}`
        : issue.message;
    case 'too_small':
      return issue.message.startsWith('Too small')
        ? `must be at least ${issue.minimum}${unitOf(issue.origin)}`
        : issue.message;
    case 'too_big':
      return issue.message.startsWith('Too big')
        ? `must be at most ${issue.maximum}${unitOf(issue.origin)}`
        : issue.message;
    default:
      return issue.message;
  }
}

const TYPE_NAMES: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters long';
  if (origin === 'array') return ' items long';
  return '';
}

/** One of `values`, without regard to case (contract 1.6). */
export function enumeration<const Values extends readonly [string, ...string[]]>(values: Values) {
  const message = `must be one of ${values.join(', ')}`;
  return z
    .string({ error: (issue) => (issue.input === undefined ? 'is required' : message) })
    .transform((text) => text.trim().toUpperCase())
    .pipe(z.enum(values, { error: message }))
    .meta({ override: shown({ type: 'string', enum: [...values] }) });
}

/** An integer in a query. */
export function queryInteger({ minimum, maximum }: { minimum: number; maximum?: number }) {
  const range = maximum === undefined ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`;
  const message = `must be a whole number ${range}, given once`;
  return z
    .string({ error: message })
    .regex(/^\d{1,15}$/, { error: message })
    .transform(Number)
    .refine((value) => value >= minimum && (maximum === undefined || value <= maximum), { error: message })
    .meta({ override: shown({ type: 'integer', minimum, ...(maximum === undefined ? {} : { maximum }) }) });
}

/** A string in a query, given once. */
export function queryString() {
  return z.string({ error: 'must be given once' }).meta({ override: shown({ type: 'string' }) });
}

/** A string with the wildcards `*` and `?` in a query, given once. Several `*` beside each other are one. */
export function queryPattern() {
  return queryString()
    .refine((pattern) => !isPatternTooLong(pattern), {
      error: `with wildcards must have at most ${MAX_PATTERN_LENGTH} characters`,
    })
    .transform(withSingleStars);
}

/** A timestamp in a query, in milliseconds since 1970. */
export function queryTimestamp() {
  const message =
    'must be a timestamp such as 2026-11-21T06:53:00Z or 2026-11-21T06:53:00.123+01:00, given once';
  return (
    z
      .string({ error: message })
      // In a query, "+" is a space unless it was escaped.
      .transform((text) => text.replace(' ', '+'))
      .pipe(z.iso.datetime({ offset: true, error: message }))
      .transform((text) => Date.parse(text))
      .meta({ override: shown({ type: 'string', format: 'date-time' }) })
  );
}

export function queryBoolean() {
  const message = 'must be true or false, given once';
  return z
    .string({ error: message })
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(['true', 'false'], { error: message }))
    .transform((text) => text === 'true')
    .meta({ override: shown({ type: 'boolean' }) });
}

/** A list in a query: repeated, comma-separated, or both (contract 5.4). */
export function queryList<Item extends z.ZodType<unknown, string>>(item: Item) {
  return z
    .union([z.string(), z.array(z.string())])
    .transform((value) =>
      [value]
        .flat()
        .flatMap((text) => text.split(','))
        .map((text) => text.trim())
        .filter((text) => text !== ''),
    )
    .pipe(z.array(item));
}

/** Limit of the page size; larger values are reduced to it (contract 5.2). */
const MAX_PAGE_SIZE = 2000;

/** The page parameters of every list (contract 5.2). */
export const pageQuery = {
  page: queryInteger({ minimum: 0 })
    .default(0)
    .meta({ description: 'Which page, counted from 0.', example: 0, override: shownDefault(0) }),
  size: queryInteger({ minimum: 1 })
    .transform((size) => Math.min(size, MAX_PAGE_SIZE))
    .default(20)
    .meta({
      description: 'Items of a page; more than 2000 are reduced to 2000.',
      example: 20,
      override: shownDefault(20),
    }),
};
