/**
 * Descriptions of a script's values, from which the thread shows them (shown-value.ts): a realm gives no object to its thread.
 *
 * The compiled text of this file is evaluated in the realm (realm-sources.ts): it imports types only.
 */

/** A text, a boolean, null or a finite number; or another value by its kind. */
export type DescribedValue =
  | string
  | number
  | boolean
  | null
  | ['undefined']
  | ['number' | 'bigint', string]
  | ['symbol', string | null]
  | ['hole']
  /** An object, by its place in the list. */
  | ['object', number]
  | ['accessor', 'get' | 'set' | 'both'];

export interface DescribedObject {
  kind: 'object' | 'array' | 'map' | 'set' | 'date' | 'error' | 'text';
  /** Name of its class; null when it has no prototype. */
  className: string | null;
  tag?: string;
  /** The text by which it is shown, the stack of an error, or the time of a date in milliseconds. */
  text?: string;
  length?: number;
  items?: DescribedValue[];
  entries?: [DescribedValue, DescribedValue][];
  properties?: DescribedProperty[];
}

export type DescribedProperty = [
  key: string | ['symbol', string | null],
  value: DescribedValue,
  isShown: boolean,
];

/** Objects in lists, maps and sets beyond this number are counted only, as `util.inspect` does. */
const MAX_ITEMS = 100;

/** Describes a value with all objects down to a depth, as JSON: the list of objects, and the value. */
export function describeValue(value: unknown, depth: number): string {
  return JSON.stringify(new Description(depth).of(value));
}

class Description {
  readonly #depth: number;
  readonly #objects: DescribedObject[] = [];
  readonly #places = new Map<object, number>();
  readonly #queue: { object: object; described: DescribedObject; depth: number }[] = [];

  constructor(depth: number) {
    this.#depth = depth;
  }

  of(value: unknown): { value: DescribedValue; objects: DescribedObject[] } {
    const described = this.#value(value, 0);
    // The nearest first, so that an object which is met twice is described at its lesser depth.
    for (let index = 0; index < this.#queue.length; index++) {
      const next = this.#queue[index];
      if (next) this.#fill(next.object, next.described, next.depth);
    }
    return { value: described, objects: this.#objects };
  }

  #value(value: unknown, depth: number): DescribedValue {
    switch (typeof value) {
      case 'undefined':
        return ['undefined'];
      case 'number':
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : ['number', Object.is(value, -0) ? '-0' : `${value}`];
      case 'bigint':
        return ['bigint', `${value}`];
      case 'symbol':
        return describedSymbol(value);
      case 'object':
      case 'function':
        return value === null ? null : this.#object(value, depth);
      default:
        return value as string | boolean;
    }
  }

  #object(object: object, depth: number): DescribedValue {
    const known = this.#places.get(object);
    if (known !== undefined) return ['object', known];
    const place = this.#objects.length;
    const described = withoutContent(object);
    this.#places.set(object, place);
    this.#objects.push(described);
    if (depth <= this.#depth) this.#queue.push({ object, described, depth });
    return ['object', place];
  }

  #fill(object: object, described: DescribedObject, depth: number): void {
    const inner = depth + 1;
    if (described.kind === 'array') {
      const list = object as unknown[];
      described.items = [];
      for (let index = 0; index < Math.min(list.length, MAX_ITEMS); index++) {
        described.items.push(index in list ? this.#value(list[index], inner) : ['hole']);
      }
    } else if (described.kind === 'map') {
      described.entries = firstOf(object as Map<unknown, unknown>).map(([key, value]) => [
        this.#value(key, inner),
        this.#value(value, inner),
      ]);
    } else if (described.kind === 'set') {
      described.items = firstOf(object as Set<unknown>).map((value) => this.#value(value, inner));
    }
    described.properties = this.#properties(object, described, inner);
  }

  #properties(object: object, { kind }: DescribedObject, depth: number): DescribedProperty[] {
    const properties: DescribedProperty[] = [];
    for (const key of Reflect.ownKeys(object)) {
      if (kind === 'array' && typeof key === 'string' && isIndex(key)) continue;
      const property = Reflect.getOwnPropertyDescriptor(object, key);
      if (!property) continue;
      const isShown = property.enumerable === true;
      if (!isShown && !(kind === 'error' && holdsErrors(key))) continue;
      const described = this.#property(property, depth);
      properties.push([typeof key === 'symbol' ? describedSymbol(key) : key, described, isShown]);
    }
    return properties;
  }

  /** Value of a property; a getter is not called. */
  #property({ get, set, value }: PropertyDescriptor, depth: number): DescribedValue {
    if (get && set) return ['accessor', 'both'];
    if (get) return ['accessor', 'get'];
    return set ? ['accessor', 'set'] : this.#value(value, depth);
  }
}

/** Whether an error has other errors in this property, which is shown although it cannot be enumerated. */
function holdsErrors(key: PropertyKey): boolean {
  return key === 'cause' || key === 'errors';
}

function describedSymbol(symbol: symbol): ['symbol', string | null] {
  return ['symbol', symbol.description ?? null];
}

function isIndex(key: string): boolean {
  return String(Number(key) >>> 0) === key;
}

function firstOf<Item>(items: Iterable<Item> & { readonly size: number }): Item[] {
  const first: Item[] = [];
  for (const item of items) {
    if (first.length === MAX_ITEMS) break;
    first.push(item);
  }
  return first;
}

function withoutContent(object: object): DescribedObject {
  const className = classNameOf(object);
  if (typeof object === 'function') return { kind: 'text', className, text: functionText(object, className) };
  if (Array.isArray(object)) return { kind: 'array', className, length: object.length };
  if (ArrayBuffer.isView(object) && !(object instanceof DataView)) {
    return { kind: 'array', className, length: (object as Uint8Array).length };
  }
  const tag: unknown = Reflect.get(object, Symbol.toStringTag);
  const tagged = typeof tag === 'string' && tag !== '' && tag !== className ? { tag } : {};
  if (object instanceof Error) return { kind: 'error', className, text: errorText(object), ...tagged };
  if (object instanceof Map) return { kind: 'map', className, length: object.size };
  if (object instanceof Set) return { kind: 'set', className, length: object.size };
  if (object instanceof Date) return { kind: 'date', className, text: `${object.getTime()}` };
  if (object instanceof RegExp) return { kind: 'text', className, text: `${object}` };
  if (object instanceof WeakMap || object instanceof WeakSet)
    return { kind: 'text', className, text: `${className} { <items unknown> }` };
  const text = boxedText(object);
  return text === undefined ? { kind: 'object', className, ...tagged } : { kind: 'text', className, text };
}

/** Text of an object that holds a primitive value; undefined for any other. */
function boxedText(object: object): string | undefined {
  for (const Boxed of [Number, String, Boolean, Symbol, BigInt]) {
    if (!(object instanceof Boxed)) continue;
    const held: unknown = object.valueOf();
    const text = typeof held === 'string' ? `'${held}'` : String(held);
    return `[${Boxed.name}: ${text}${typeof held === 'bigint' ? 'n' : ''}]`;
  }
  return undefined;
}

/** Name of the class of an object, by the nearest prototype that has a constructor of which it is an instance. */
function classNameOf(object: object): string | null {
  for (let at: object | null = object; at !== null; at = Reflect.getPrototypeOf(at)) {
    const maker: unknown = Reflect.getOwnPropertyDescriptor(at, 'constructor')?.value;
    if (typeof maker !== 'function' || !(object instanceof maker)) continue;
    const name: unknown = maker.name;
    if (typeof name === 'string' && name !== '') return name;
  }
  return null;
}

function functionText(value: object, className: string | null): string {
  const name: unknown = Reflect.getOwnPropertyDescriptor(value, 'name')?.value;
  const named = typeof name === 'string' && name !== '';
  const above: unknown = Reflect.getPrototypeOf(value);
  if (/^class\b/.test(Function.prototype.toString.call(value))) {
    const parent: unknown = typeof above === 'function' ? Reflect.get(above, 'name') : undefined;
    const extended = typeof parent === 'string' && parent !== '' ? ` extends ${parent}` : '';
    return `[class ${named ? name : '(anonymous)'}${extended}]`;
  }
  return `[${className ?? 'Function'}${named ? `: ${name}` : ' (anonymous)'}]`;
}

function errorText(error: Error): string {
  const { stack } = error;
  return typeof stack === 'string' && stack !== '' ? stack : Error.prototype.toString.call(error);
}
