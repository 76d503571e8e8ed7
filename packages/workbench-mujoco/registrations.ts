/**
 * Registrations: the calls by which the compiled simulator tells its script, while it starts, which functions, classes and
 * constants there are. They are recorded once and repeated in each realm: the general ones at once, and those of a single
 * function, of a class or of an enumeration when a script first uses it. There are 3,000, and most jobs use fewer than 30.
 */
import type { ImportCall, LaterCalls, LaterRegistrations } from './realm-calls.js';

const FUNCTION = '_embind_register_function';
const CLASS = '_embind_register_class';
const ENUM = '_embind_register_enum';
const ENUM_VALUE = '_embind_register_enum_value';
const CONSTRUCTOR = '_embind_register_class_constructor';
const STATIC = '_embind_register_class_class_function';
const METHOD = '_embind_register_class_function';
const PROPERTY = '_embind_register_class_property';

export class Registrations {
  /** Text of a function that makes the general calls by an object with the imported functions. */
  readonly general: string;
  /** Numbers of types by the names of their classes, and names of classes and enumerations that are completed when they are used:
   *  for a realm. */
  readonly asJson: string;
  /** Enumerations by the number of their type. */
  readonly enums: Readonly<Record<number, string>>;
  /** Calls that are made later, by the name of a function, class or enumeration, or by number of type and name of a member. */
  readonly #later = new Map<string, ImportCall[]>();
  readonly #memory: DataView;

  /** Calls in their order, and the memory that they refer to. */
  constructor(calls: readonly ImportCall[], memory: ArrayBuffer) {
    this.#memory = new DataView(memory);
    const classNames = this.#namesOf(calls, CLASS, 10);
    const enumNames = this.#namesOf(calls, ENUM, 1);
    const namesOfTypes = new Map([...classNames, ...enumNames]);
    const general: ImportCall[] = [];
    for (const call of calls) {
      const key = this.#keyOf(call, namesOfTypes);
      if (key === undefined) general.push(call);
      else this.#later.set(key, [...(this.#later.get(key) ?? []), call]);
    }
    this.general = `(function (imports) {'use strict';\n${general.map(callText).join('\n')}\n})`;
    this.enums = Object.fromEntries(enumNames);
    this.asJson = JSON.stringify({
      classes: Object.fromEntries([...classNames].map(([type, name]) => [name, type])),
      incomplete: [...namesOfTypes.values()].filter((name) => this.#later.has(name)),
    } satisfies LaterRegistrations);
  }

  /** Calls for a function, class or enumeration, or for the member of a class; undefined when there are none. */
  laterCalls(key: string): LaterCalls | undefined {
    const calls = this.#later.get(key);
    if (!calls) return undefined;
    const types = new Set(calls.flatMap((call) => this.#typesIn(call)));
    return { first: [...types].flatMap((type) => this.enums[type] ?? []), calls };
  }

  /** All names for {@link laterCalls}. */
  laterKeys(): string[] {
    return [...this.#later.keys()];
  }

  /** Plain names of classes or enumerations, by the numbers of their types. */
  #namesOf(calls: readonly ImportCall[], kind: string, at: number): Map<number, string> {
    const names = new Map<number, string>();
    for (const [name, ...values] of calls) {
      const text = name === kind ? this.#text(values[at]) : '';
      if (/^[a-z_]\w*$/i.test(text)) names.set(Number(values[0]), text);
    }
    return names;
  }

  #typesIn([name, ...values]: ImportCall): number[] {
    const numbers = values.map(Number);
    if (name === PROPERTY) return [numbers[2] ?? 0, numbers[6] ?? 0];
    const first = name === FUNCTION || name === CONSTRUCTOR ? 1 : name === METHOD || name === STATIC ? 2 : 0;
    if (first === 0) return [];
    const [count = 0, address = 0] = numbers.slice(first);
    return Array.from({ length: count }, (_, index) => this.#memory.getUint32(address + 4 * index, true));
  }

  #keyOf([name, ...values]: ImportCall, namesOfTypes: Map<number, string>): string | undefined {
    const type = Number(values[0]);
    if (name === FUNCTION) return this.#text(values[0]).replace(/\(.*/, '').trim();
    if (name === CONSTRUCTOR || name === STATIC || name === ENUM_VALUE) return namesOfTypes.get(type);
    if ((name !== METHOD && name !== PROPERTY) || !namesOfTypes.has(type)) return undefined;
    const member = this.#text(values[1]).replace(/\(.*/, '').trim();
    // A symbol, such as the iterator.
    return member.startsWith('@@') ? undefined : memberKey(type, member);
  }

  #text(pointer: number | bigint | undefined): string {
    let text = '';
    for (
      let at = Number(pointer), code = this.#memory.getUint8(at);
      code !== 0;
      code = this.#memory.getUint8(++at)
    ) {
      text += String.fromCharCode(code);
    }
    return text;
  }
}

/** Name of the calls for a member of a class. */
function memberKey(type: number, member: string): string {
  return `${type}.${member}`;
}

function callText([name, ...values]: ImportCall): string {
  return `imports.${name}(${values.map((value) => `${value}${typeof value === 'bigint' ? 'n' : ''}`).join()});`;
}
