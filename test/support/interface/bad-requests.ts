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
      return schema.const ?? schema.enum?.[0] ?? (schema.pattern ? 'A' : 'x'.repeat(schema.minLength ?? 0));
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
  if (schema.oneOf) {
    const taken = new Set(
      schema.oneOf.map(({ type }) => `is of type ${type === 'integer' ? 'number' : type}`),
    );
    return schema.oneOf
      .flatMap((option) => badValues(option, field, isRequired, whole))
      .filter((bad) => bad.field !== field || !taken.has(bad.fault));
  }
  const faulty = [
    ...valuesOfWrongType(schema),
    ...(isRequired ? [['is null', null] as const] : []),
    ...valuesOutOfBounds(schema),
    ...textsOfWrongForm(schema),
    ...listsOfWrongLength(schema),
  ];
  return [
    ...faulty.map(([fault, value]) => ({ field, fault, json: whole(value) })),
    ...badItems(schema, field, whole),
    ...badMembers(schema, field, whole),
  ];
}

/** Fault of a value in words, and the value. */
type Faulty = readonly [fault: string, value: unknown];

function valuesOfWrongType({ type }: JsonSchema): Faulty[] {
  const fits = (name: string) => type === name || (type === 'integer' && name === 'number');
  return Object.entries(WRONG_TYPES)
    .filter(([name]) => !fits(name))
    .map(([name, value]) => [`is of type ${name}`, value]);
}

function valuesOutOfBounds({ type, minimum, maximum, maxLength }: JsonSchema): Faulty[] {
  const faulty: Faulty[] = [];
  if (type === 'integer') faulty.push(['is a fraction', 1.5]);
  if (minimum !== undefined) faulty.push(['is too small', minimum - 1]);
  if (maximum !== undefined) faulty.push(['is too large', maximum + 1]);
  if (maxLength !== undefined) faulty.push(['is too long', 'x'.repeat(maxLength + 1)]);
  return faulty;
}

function textsOfWrongForm({ enum: values, pattern, format }: JsonSchema): Faulty[] {
  const faulty: Faulty[] = [];
  if (values) faulty.push(['is an unknown value', 'NONSENSE']);
  if (values || pattern) faulty.push(['is empty', '']);
  if (pattern && !new RegExp(pattern, 'u').test(ANOTHER_FORM))
    faulty.push(['has another form', ANOTHER_FORM]);
  if (format === 'byte')
    for (const text of ['*', 'A', 'AA=', 'AA==AA==', '_-__']) faulty.push([`is ${text}`, text]);
  return faulty;
}

function listsOfWrongLength({ items, minItems, maxItems }: JsonSchema): Faulty[] {
  if (!items) return [];
  const list = (length: number) => Array.from({ length }, () => leastOf(items));
  const faulty: Faulty[] = [];
  if (minItems !== undefined) faulty.push(['has too few items', list(minItems - 1)]);
  if (maxItems !== undefined) faulty.push(['has too many items', list(maxItems + 1)]);
  return faulty;
}

/** Lists with one bad item. */
function badItems({ items }: JsonSchema, field: string, whole: (value: unknown) => unknown): BadRequest[] {
  return items ? badValues(items, `${field}[0]`, true, (value) => whole([value])) : [];
}

/** Objects with one bad member, or without one that is required. */
function badMembers(schema: JsonSchema, field: string, whole: (value: unknown) => unknown): BadRequest[] {
  const bad: BadRequest[] = [];
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
