/** Reads a value of the other side by its schema; members that the schema does not know are left out. */
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
