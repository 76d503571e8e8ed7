/** Shows a value of a realm from its description (realm-description.ts), as `util.inspect` shows the value itself. */
import { inspect } from 'node:util';
import type { DescribedObject, DescribedProperty, DescribedValue } from './realm-description.js';

type ShownObject = Record<PropertyKey, unknown>;

/** Gives the text for a description in JSON. Throws when it is none. */
export function shownValue(json: string, depth: number): string {
  const { value, objects } = JSON.parse(json) as { value: DescribedValue; objects: DescribedObject[] };
  const shown = objects.map(objectLike);
  const valueFor = (described: DescribedValue) => valueLike(described, shown);
  for (const [index, described] of objects.entries()) fill(shown[index] as object, described, valueFor);
  return inspect(valueFor(value), { depth });
}

function valueLike(described: DescribedValue, objects: readonly object[]): unknown {
  if (!Array.isArray(described)) return described;
  switch (described[0]) {
    case 'number':
      return Number(described[1]);
    case 'bigint':
      return BigInt(described[1]);
    case 'symbol':
      return Symbol(described[1] ?? undefined);
    case 'object':
      return objects[described[1]];
    default:
      return undefined;
  }
}

/** An object of the thread that is shown like the described one, still without content. */
function objectLike(described: DescribedObject): object {
  const object = emptyObject(described);
  const { className, tag } = described;
  const ownClass = Object.getPrototypeOf(object) as { readonly constructor: { readonly name: string } };
  if (described.kind === 'text' || (className === ownClass.constructor.name && tag === undefined))
    return object;
  if (className === null) return Object.setPrototypeOf(object, null) as object;
  const Class: { prototype?: object } = () => undefined;
  Object.defineProperty(Class, 'name', { value: className });
  const prototype = Object.create(ownClass, { constructor: { value: Class } }) as object;
  if (tag !== undefined) Object.defineProperty(prototype, Symbol.toStringTag, { value: tag });
  Class.prototype = prototype;
  return Object.setPrototypeOf(object, prototype) as object;
}

function emptyObject({ kind, text = '', length = 0 }: DescribedObject): object {
  switch (kind) {
    case 'array': {
      const list: unknown[] = [];
      list.length = length;
      return list;
    }
    case 'map':
      return new Map();
    case 'set':
      return new Set();
    case 'date':
      return new Date(Number(text));
    case 'error':
      return Object.defineProperties(new Error(), {
        name: { value: /^[^:\n]*/.exec(text)?.[0] ?? 'Error', configurable: true },
        stack: { value: text, configurable: true },
      });
    default:
      return {};
  }
}

type ValueFor = (value: DescribedValue) => unknown;

function fill(object: object, described: DescribedObject, valueFor: ValueFor): void {
  const { kind, properties = [], text = '' } = described;
  if (kind === 'array') fillArray(object as unknown[], described, valueFor);
  else if (kind === 'map') fillMap(object as Map<unknown, unknown>, described, valueFor);
  else if (kind === 'set') fillSet(object as Set<unknown>, described, valueFor);
  for (const property of properties) define(object, property, valueFor);
  if (kind === 'text') showAsText(object as ShownObject, text);
}

function fillArray(list: unknown[], { items = [] }: DescribedObject, valueFor: ValueFor): void {
  for (const [index, item] of items.entries()) {
    if (!Array.isArray(item) || item[0] !== 'hole') list[index] = valueFor(item);
  }
}

/** Fills a map; what is not described of it is counted only. */
function fillMap(
  map: Map<unknown, unknown>,
  { entries = [], length = 0 }: DescribedObject,
  valueFor: ValueFor,
): void {
  for (const [key, value] of entries) map.set(valueFor(key), valueFor(value));
  for (let more = entries.length; more < length; more++) map.set({}, 0);
}

/** Fills a set; what is not described of it is counted only. */
function fillSet(set: Set<unknown>, { items = [], length = 0 }: DescribedObject, valueFor: ValueFor): void {
  for (const item of items) set.add(valueFor(item));
  for (let more = items.length; more < length; more++) set.add({});
}

function define(object: object, [key, value, enumerable]: DescribedProperty, valueFor: ValueFor): void {
  const isAccessor = Array.isArray(value) && value[0] === 'accessor';
  const content: PropertyDescriptor = isAccessor ? {} : { value: valueFor(value) };
  if (isAccessor && value[1] !== 'set') content.get = () => undefined;
  if (isAccessor && value[1] !== 'get') content.set = () => undefined;
  Object.defineProperty(object, typeof key === 'string' ? key : Symbol(key[1] ?? undefined), {
    ...content,
    enumerable,
    configurable: true,
  });
}

/** Lets an object be shown by a text, with its properties after that. */
function showAsText(object: ShownObject, text: string): void {
  Object.defineProperty(object, inspect.custom, {
    value: (depth: number, options: object) =>
      depth < 0 || Reflect.ownKeys(object).length === 1 ? text : `${text} ${inspect({ ...object }, options)}`,
  });
}
