/** Describes the errors of a schema: key path, found value, allowed values. */
import { z } from 'zod';

export interface FaultText {
  /** `server.port`, `instances[0].labels[1]`. */
  readonly path: string;
  readonly text: string;
}

/** One text for each error of an issue; values of secrets are never shown. */
export function describeIssue(issue: z.core.$ZodIssue, input: unknown, schema: z.ZodType): FaultText[] {
  if (issue.code === 'unrecognized_keys') {
    const at = schemaAt(schema, issue.path);
    const known = at instanceof z.ZodObject ? Object.keys(at.shape).join(', ') : '';
    return issue.keys.map((key) => {
      const path = pathText([...issue.path, key]);
      return { path, text: `${path}: unknown key${known ? `, allowed here: ${known}` : ''}` };
    });
  }
  const path = pathText(issue.path);
  const value = valueAt(input, issue.path);
  const hidden = value !== undefined && value !== null && isSecret(schema, issue.path);
  const found = hidden ? 'a value that is not shown' : show(value);
  return [{ path, text: `${path}: found ${found}, allowed: ${allowed(issue)}` }];
}

/** Member of the metadata of a schema that asks another one: that schema, by which secrets in its value are known. */
export const ASKED = 'asked';

/** The issues of a schema for another one that asks it, which knows them by paths and messages alone. */
export function issuesForAnother(
  issues: readonly z.core.$ZodIssue[],
  schema: z.ZodType,
): { readonly path: PropertyKey[]; readonly message: string }[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path, message: allowed(issue) }];
    const at = schemaAt(schema, issue.path);
    const known = at instanceof z.ZodObject ? `: ${Object.keys(at.shape).join(', ')}` : '';
    return issue.keys.map((key) => ({
      path: [...issue.path, key],
      message: `a key that is known here${known}`,
    }));
  });
}

function allowed(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value' && issue.message.startsWith('Invalid'))
    return issue.values.map((value) => JSON.stringify(value)).join(', ');
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input'))
    return TYPE_NAMES[issue.expected] ?? issue.expected;
  if (issue.code === 'too_small' && issue.message.startsWith('Too small')) return `at least ${issue.minimum}`;
  if (issue.code === 'too_big' && issue.message.startsWith('Too big')) return `at most ${issue.maximum}`;
  return issue.message;
}

const TYPE_NAMES: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'keys and values',
  record: 'keys and values',
};

export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? String(part) : `.${String(part)}`;
  }
  return text;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let at = input;
  for (const part of path) at = (at as Record<PropertyKey, unknown> | null | undefined)?.[part];
  return at;
}

function show(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

function isSecret(schema: z.ZodType, path: readonly PropertyKey[]): boolean {
  return path.some((_, index) => schemaAt(schema, path.slice(0, index + 1))?.meta()?.['secret'] === true);
}

function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  let at: z.core.$ZodType | undefined = schema;
  const rest = [...path];
  while (at) {
    if (
      at instanceof z.ZodDefault ||
      at instanceof z.ZodPrefault ||
      at instanceof z.ZodOptional ||
      at instanceof z.ZodNullable
    ) {
      at = at.def.innerType;
      continue;
    }
    const asked: unknown = (at as z.ZodType).meta()?.[ASKED];
    if (asked instanceof z.ZodType) {
      at = asked;
      continue;
    }
    if (rest.length === 0) return at as z.ZodType;
    const part = rest.shift() as PropertyKey;
    if (at instanceof z.ZodObject) at = at.shape[String(part)];
    else if (at instanceof z.ZodArray) at = at.element;
    else return undefined;
  }
  return undefined;
}
