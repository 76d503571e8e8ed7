/** What openapi.json says of schemas whose input is read more generously than it is described. */
import type { z } from 'zod';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** What is said beside the shape of a value. */
const REMARKS = ['description', 'example', 'default'];

/** `meta({ override })`: shows exactly this, with the remarks that the schema carries. */
export function shown(shape: JsonSchema) {
  return ({ jsonSchema }: { jsonSchema: JsonSchema }): void => {
    for (const key of Object.keys(jsonSchema)) if (!REMARKS.includes(key)) delete jsonSchema[key];
    Object.assign(jsonSchema, shape);
  };
}

/** `meta({ override })` of a `nullish()`: null is taken as "left out", and nobody is told to send it. */
export function shownWithoutNull({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  const shape = (jsonSchema.anyOf as JsonSchema[] | undefined)?.find(({ type }) => type !== 'null');
  delete jsonSchema.anyOf;
  Object.assign(jsonSchema, shape, pick(jsonSchema, REMARKS));
}

/** `meta({ override })` of a `default()` whose input is another type than its output. */
export function shownDefault(value: unknown) {
  return ({ jsonSchema }: { jsonSchema: JsonSchema }): void => {
    jsonSchema.default = value;
  };
}

/** Drops the bounds of `z.int()`, which are those of the language and not of the interface. */
export function withoutLanguageBounds({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

function pick(jsonSchema: JsonSchema, keys: readonly string[]): JsonSchema {
  return Object.fromEntries(Object.entries(jsonSchema).filter(([key]) => keys.includes(key)));
}
