/** Bad values for each single parameter or field of an operation, generated from the hub's own document, so that new
 *  endpoints are covered as well. */
import type { JsonSchema, Operation } from './openapi-operations.js';

export interface BadRequest {
  /** The bad parameter or field, as the message must name it: `inputScripts[0].content`. */
  readonly field: string;
  /** Description for a test title. */
  readonly fault: string;
  readonly query?: string;
  readonly pathValues?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

export function badRequestsOf({ parameters, body }: Operation): BadRequest[] {
  const bad: BadRequest[] = [];
  for (const { in: place, name, schema } of parameters) {
    for (const text of badTexts(schema)) {
      if (place === 'path') {
        // Any other text is the id of something that does not exist.
        if (schema.enum) bad.push({ field: name, fault: `is ${text}`, pathValues: { [name]: text } });
        continue;
      }
      bad.push({ field: name, fault: `is ${JSON.stringify(text)}`, query: `${name}=${text}` });
    }
    if (place === 'query' && schema.type !== 'array') {
      const good = goodText(schema);
      bad.push({ field: name, fault: 'is doubled', query: `${name}=${good}&${name}=${good}` });
    }
  }
  if (body) bad.push(...badValues(body, 'body', true, (value) => value));
  return bad;
}

/** The smallest value that the schema allows. */
export function leastOf(schema: JsonSchema): unknown {
  if (schema.oneOf?.[0]) return leastOf(schema.oneOf[0]);
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((key) => [key, leastOf(schema.properties?.[key] ?? {})]),
      );
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => leastOf(schema.items ?? {}));
    case 'integer':
    case 'number':
      return schema.minimum ?? 0;
    case 'boolean':
      return false;
    default:
      return schema.enum?.[0] ?? (schema.pattern ? 'A' : '');
  }
}

function badTexts(schema: JsonSchema): string[] {
  switch (schema.type) {
    case 'integer': {
      const texts = [
        '',
        'x',
        '1.5',
        '1e3',
        '0x10',
        '%201',
        '٣',
        '9'.repeat(30),
        `${(schema.minimum ?? 0) - 1}`,
      ];
      return schema.maximum === undefined ? texts : [...texts, `${schema.maximum + 1}`];
    }
    case 'boolean':
      return ['', 'maybe', '1', 'null'];
    case 'array':
      return schema.items?.enum ? ['NONSENSE', `${schema.items.enum[0]},NONSENSE`, '0'] : [];
    default:
      return schema.enum ? ['NONSENSE', '0', `${schema.enum[0]}_`] : [];
  }
}

function goodText(schema: JsonSchema): string {
  return schema.type === 'integer' ? '1' : String(leastOf(schema));
}

/** A text that few patterns allow. */
const ANOTHER_FORM = '../*';

/** `whole` puts a value in its place in an otherwise good body. */
function badValues(
  schema: JsonSchema,
  field: string,
  isRequired: boolean,
  whole: (value: unknown) => unknown,
): BadRequest[] {
  // The first alternative has the faults of the whole, too.
  if (schema.oneOf) return schema.oneOf.flatMap((option) => badValues(option, field, isRequired, whole));
  const bad: BadRequest[] = [];
  const add = (fault: string, value: unknown) => bad.push({ field, fault, json: whole(value) });
  for (const [name, value] of Object.entries(WRONG_TYPES)) {
    const fits = schema.type === name || (schema.type === 'integer' && name === 'number');
    if (!fits) add(`is of type ${name}`, value);
  }
  if (isRequired) add('is null', null);
  if (schema.type === 'integer') add('is a fraction', 1.5);
  if (schema.minimum !== undefined) add('is too small', schema.minimum - 1);
  if (schema.maximum !== undefined) add('is too large', schema.maximum + 1);
  if (schema.maxLength !== undefined) add('is too long', 'x'.repeat(schema.maxLength + 1));
  if (schema.enum) add('is an unknown value', 'NONSENSE');
  if (schema.enum || schema.pattern) add('is empty', '');
  if (schema.pattern && !new RegExp(schema.pattern, 'u').test(ANOTHER_FORM))
    add('has another form', ANOTHER_FORM);
  if (schema.format === 'byte')
    for (const text of ['*', 'A', 'AA=', 'AA==AA==', '_-__']) add(`is ${text}`, text);
  const { items } = schema;
  if (items) {
    const list = (length: number) => Array.from({ length }, () => leastOf(items));
    if (schema.minItems !== undefined) add('has too few items', list(schema.minItems - 1));
    if (schema.maxItems !== undefined) add('has too many items', list(schema.maxItems + 1));
    bad.push(...badValues(items, `${field}[0]`, true, (value) => whole([value])));
  }
  const least = leastOf(schema) as Record<string, unknown>;
  for (const [key, member] of Object.entries(schema.properties ?? {})) {
    const memberField = field === 'body' ? key : `${field}.${key}`;
    const memberRequired = schema.required?.includes(key) ?? false;
    if (memberRequired) {
      bad.push({ field: memberField, fault: 'is missing', json: whole({ ...least, [key]: undefined }) });
    }
    const put = (value: unknown) => whole({ ...least, [key]: value });
    bad.push(...badValues(member, memberField, memberRequired, put));
  }
  return bad;
}

const WRONG_TYPES = { string: 'x', number: 7, boolean: true, array: [], object: {} };
