/** Parses a value by its schema; unknown members are dropped. */
import * as v from 'valibot';
import { ValidationError } from '../validation-error.js';

/** Throws {@link ValidationError} for the first error. */
export function readAs<Schema extends v.GenericSchema>(
  schema: Schema,
  value: unknown,
): v.InferOutput<Schema> {
  const result = v.safeParse(schema, value, { abortEarly: true, abortPipeEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  throw new ValidationError(v.getDotPath(issue) ?? '', issue.message);
}
