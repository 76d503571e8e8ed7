/** OpenAPI descriptions of schemas that accept more than they describe. */
import type { z } from 'zod';

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Keys beside the shape of a value. */
const REMARKS = ['description', 'example', 'default'];

/** `meta({ override })`: shows exactly this shape, with the remarks of the schema. */
export function shown(shape: JsonSchema) {
  return ({ jsonSchema }: { jsonSchema: JsonSchema }): void => {
    for (const key of Object.keys(jsonSchema)) if (!REMARKS.includes(key)) delete jsonSchema[key];
    Object.assign(jsonSchema, shape);
  };
}

/** `meta({ override })` of a `nullish()`: null is accepted as absent, and not documented. */
export function shownWithoutNull({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  const shape = (jsonSchema.anyOf as JsonSchema[] | undefined)?.find(({ type }) => type !== 'null');
  delete jsonSchema.anyOf;
  Object.assign(jsonSchema, shape, pick(jsonSchema, REMARKS));
}

/** `meta({ override })` of a `default()` whose input and output have different types. */
export function shownDefault(value: unknown) {
  return ({ jsonSchema }: { jsonSchema: JsonSchema }): void => {
    jsonSchema.default = value;
  };
}

/** Drops the bounds of `z.int()`, which are those of JavaScript and not of the API. */
export function withoutLanguageBounds({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

function pick(jsonSchema: JsonSchema, keys: readonly string[]): JsonSchema {
  return Object.fromEntries(Object.entries(jsonSchema).filter(([key]) => keys.includes(key)));
}
