/**
 * Registrations: the calls by which the compiled simulator tells its script, while it starts, which types, functions and
 * constants there are. They are recorded once and repeated in each realm: the general ones at once, and those of a type, of a
 * function or of a member when a script first uses it. There are 3,000, and most jobs use fewer than 50.
 */
import type { ImportCall, LaterCalls } from './realm-calls.js';

const FUNCTION = '_embind_register_function';
const CLASS = '_embind_register_class';
const OPTIONAL = '_embind_register_optional';
const ENUM = '_embind_register_enum';
const ENUM_VALUE = '_embind_register_enum_value';
const CONSTRUCTOR = '_embind_register_class_constructor';
const STATIC = '_embind_register_class_class_function';
const METHOD = '_embind_register_class_function';
const PROPERTY = '_embind_register_class_property';

export class Registrations {
  /** Text of a function that makes the general calls by an object with the imported functions. */
  readonly general: string;
  /** Calls that are made later, by their key: `@` and the number of a type, the name of a function or class, or the number of a type
   *  and the name of a member. */
  readonly #later = new Map<string, LaterCalls>();
  readonly #memory: DataView;

  /** Calls in their order, and the memory that they refer to. */
  constructor(calls: readonly ImportCall[], memory: ArrayBuffer) {
    this.#memory = new DataView(memory);
    const classNames = this.#namesOf(calls, CLASS, 10);
    const enumNames = this.#namesOf(calls, ENUM, 1);
    for (const [type, name] of [...classNames, ...enumNames]) {
      this.#later.set(name, { type, calls: [] });
    }
    const general: ImportCall[] = [];
    for (const call of calls) {
      const key = this.#keyOf(call, classNames, enumNames);
      if (key === undefined) general.push(call);
      else if (call[0] === CLASS) this.#addClass(key, call, classNames);
      else this.#add(key, call);
    }
    this.general = `(function (imports) {'use strict';\n${general.map(callText).join('\n')}\n})`;
  }

  #add(key: string, call: ImportCall): void {
    const known = this.#later.get(key);
    if (known) known.calls.push(call);
    else this.#later.set(key, { calls: [call] });
  }

  /** A class has three types: its own, and two of pointers to it. */
  #addClass(key: string, call: ImportCall, classNames: ReadonlyMap<number, string>): void {
    const [type = 0, ...pointers] = call.slice(1, 4).map(Number);
    const className = classNames.get(type);
    this.#later.set(key, className === undefined ? { calls: [call] } : { className, calls: [call] });
    for (const pointer of pointers) this.#later.set(typeKey(pointer), { type, calls: [] });
  }

  /** Calls for a key; undefined when there are none. */
  laterCalls(key: string): LaterCalls | undefined {
    return this.#later.get(key);
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

  #keyOf(
    [name, ...values]: ImportCall,
    classNames: ReadonlyMap<number, string>,
    enumNames: ReadonlyMap<number, string>,
  ): string | undefined {
    const type = Number(values[0]);
    if (name === FUNCTION) return this.#text(values[0]).replace(/\(.*/, '').trim();
    if (name === OPTIONAL) return typeKey(type);
    if (name === ENUM || name === ENUM_VALUE) return enumNames.has(type) ? typeKey(type) : undefined;
    if (name === CLASS) return classNames.has(type) ? typeKey(type) : undefined;
    if (name === CONSTRUCTOR || name === STATIC) return classNames.get(type);
    if ((name !== METHOD && name !== PROPERTY) || !classNames.has(type)) return undefined;
    const member = this.#text(values[1]).replace(/\(.*/, '').trim();
    // A symbol, such as the iterator, is registered with its class.
    return member.startsWith('@@') ? typeKey(type) : memberKey(type, member);
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

/** Key of the calls that register a type. */
function typeKey(type: number): string {
  return `@${type}`;
}

/** Key of the calls for a member of a class. */
function memberKey(type: number, member: string): string {
  return `${type}.${member}`;
}

function callText([name, ...values]: ImportCall): string {
  return `imports.${name}(${values.map((value) => `${value}${typeof value === 'bigint' ? 'n' : ''}`).join()});`;
}
