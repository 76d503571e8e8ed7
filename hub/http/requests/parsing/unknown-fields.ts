/** Fields of a request body that its schema does not know: they are ignored (contract 1.3), but may be misspelled. */
import { z } from 'zod';
import { warningValue } from '../../wire/warning-value.js';

interface UnknownField {
  /** Where it first is, such as `additionalFiles[1].Content`. */
  readonly path: string;
  readonly name: string;
  /** Fields that the schema knows at this place. */
  readonly known: readonly string[];
}

/** Unknown fields that are looked for, and those that are named. */
const MAX_FOUND = 100;
const MAX_NAMED = 5;
/** Names that are repeated to the client. Others could break the header. */
const NAMEABLE = /^[A-Za-z0-9_-]{1,40}$/;

/** Names unknown fields, in words and in ASCII; null when there are none. The text holds no values. */
export function unknownFieldsOf(schema: z.ZodType, body: unknown): string | null {
  if (!hasUnknown(schema, body)) return null;
  const found = new Map<string, UnknownField>();
  collect(schema, body, { path: '', place: '' }, found);
  const named = [...found.values()].filter(({ name }) => NAMEABLE.test(name)).slice(0, MAX_NAMED);
  const more = found.size - named.length;
  const amount = `${found.size === MAX_FOUND ? 'at least ' : ''}${more}`;
  const rest = named.length === 0 ? `${amount} with an unusual name` : more > 0 ? ` and ${amount} more` : '';
  return `${named.map(inWords).join(', ')}${rest}`;
}

/** Value of the header `Warning`. */
export function unknownFieldsWarning(names: string): string {
  return warningValue(`ignored request fields that the hub does not know: ${names}`);
}

/** Whether there is any. Most requests have none: they are spared the paths. */
function hasUnknown(schema: z.ZodType, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const inner = unwrapped(schema, value);
  if (inner instanceof z.ZodArray) {
    return Array.isArray(value) && value.some((item) => hasUnknown(inner.element as z.ZodType, item));
  }
  if (!(inner instanceof z.ZodObject)) return false;
  const shape: Readonly<Record<string, z.ZodType>> = inner.shape;
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(shape, name)) return true;
    if (hasUnknown(shape[name] as z.ZodType, Reflect.get(value, name))) return true;
  }
  return false;
}

/** `place` is the path without indexes: a field that many items of a list have is found once. */
function collect(
  schema: z.ZodType,
  value: unknown,
  at: { readonly path: string; readonly place: string },
  found: Map<string, UnknownField>,
): void {
  const inner = unwrapped(schema, value);
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const ofItem = { path: `${at.path}[${index}]`, place: `${at.place}[]` };
      collect(inner.element as z.ZodType, item, ofItem, found);
    }
  }
  if (!(inner instanceof z.ZodObject) || typeof value !== 'object' || value === null) return;
  const shape: Readonly<Record<string, z.ZodType>> = inner.shape;
  const below = (name: string) => ({
    path: at.path === '' ? name : `${at.path}.${name}`,
    place: `${at.place}.${name}`,
  });
  const known = Object.keys(shape);
  for (const name of Object.keys(value)) {
    const { path, place } = below(name);
    if (found.size === MAX_FOUND) return;
    if (!Object.hasOwn(shape, name) && !found.has(place)) found.set(place, { path, name, known });
  }
  for (const [name, ofMember] of Object.entries(shape)) {
    if (Object.hasOwn(value, name)) collect(ofMember, Reflect.get(value, name), below(name), found);
  }
}

/** The schema of this value, without what surrounds it. */
function unwrapped(schema: z.ZodType, value: unknown): z.ZodType {
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const { discriminator } = schema.def;
    const kind = Reflect.get(Object(value), discriminator);
    const isOf = (option: unknown) =>
      option instanceof z.ZodObject && (option.shape[discriminator] as z.ZodType).safeParse(kind).success;
    return (schema.options.find(isOf) as z.ZodType | undefined) ?? schema;
  }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return unwrapped(schema.unwrap() as z.ZodType, value);
  }
  return schema;
}

function inWords({ path, name, known }: UnknownField): string {
  const likely = known.find((other) => isSimilar(name.toLowerCase(), other.toLowerCase()));
  return likely === undefined ? path : `${path} (did you mean ${likely}?)`;
}

/** Whether at most a third of the letters differ, and at most two. */
function isSimilar(name: string, other: string): boolean {
  return editDistance(name, other) <= Math.min(2, Math.floor(other.length / 3));
}

/** Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (above[column - 1] as number) + Number(from[row - 1] !== to[column - 1]);
      const added = (current[column - 1] as number) + 1;
      current.push(Math.min(replaced, added, (above[column] as number) + 1));
    }
    above = current;
  }
  return above[to.length] as number;
}
