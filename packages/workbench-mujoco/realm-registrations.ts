/**
 * Registrations (registrations.ts) in a job's realm: each is made when a script or the simulator first uses the type, function
 * or member.
 *
 * The compiled text of this file is evaluated in the realm (realm-sources.ts): it imports types only.
 */
import type { LaterCalls, RegistrationCalls, SimulatorImports } from './realm-calls.js';

/** Makes registrations when they are needed. */
export class RealmRegistrations {
  readonly #calls: RegistrationCalls;
  readonly #parse = JSON.parse;
  readonly #made = new Set<string>();
  /** Classes whose type is registered, but not their constructors and static functions; by name. */
  readonly #aside = new Map<string, unknown>();
  /** Number of the type by the prototype of its class. */
  readonly #types = new Map<object, number>();
  #mujoco: Record<string, unknown> | undefined;
  #imports: SimulatorImports = {};
  /** Number of registrations that are being made. */
  #depth = 0;

  constructor(calls: RegistrationCalls) {
    this.#calls = calls;
  }

  /** Begins with the complete simulator's script. */
  begin(mujoco: Record<string, unknown>, imports: SimulatorImports): void {
    this.#mujoco = mujoco;
    this.#imports = imports;
    useFor(mujoco, (_, key) => this.#depth === 0 && this.#make(key));
  }

  makeAll(): void {
    for (const key of this.#parse(this.#calls.laterKeys()) as string[]) this.#make(key);
  }

  /** The simulator's table of types, which makes the registration of a type that is looked up. */
  ofTypes(registered: object): object {
    const make = (types: object, key: string | symbol): void => {
      if (this.#mujoco && typeof key === 'string' && !(key in types)) this.#make(`@${key}`);
    };
    return new Proxy(registered, {
      get(types, key) {
        make(types, key);
        return Reflect.get(types, key);
      },
      getOwnPropertyDescriptor(types, key) {
        make(types, key);
        return Reflect.getOwnPropertyDescriptor(types, key);
      },
    });
  }

  #make(key: string): boolean {
    const text = this.#made.has(key) ? undefined : this.#calls.laterCalls(key);
    if (text === undefined) return false;
    this.#made.add(key);
    const { type, className, calls } = this.#parse(text) as LaterCalls;
    if (type !== undefined) this.#make(`@${type}`);
    this.#bringBack(key);
    this.#depth++;
    try {
      for (const [name, ...values] of calls) this.#imports[name]?.(...values);
    } finally {
      this.#depth--;
    }
    if (className !== undefined) this.#classIsMade(className, Number(key.slice(1)));
    return true;
  }

  #classIsMade(name: string, type: number): void {
    const mujoco = this.#mujoco ?? {};
    const made = mujoco[name] as { readonly prototype: object };
    if (this.#types.size === 0) {
      useFor(topOf(made.prototype), (receiver, key) => this.#depth === 0 && this.#makeMember(receiver, key));
    }
    this.#types.set(made.prototype, type);
    this.#aside.set(name, made);
    delete mujoco[name];
    if (this.#made.has(name)) this.#bringBack(name);
  }

  #bringBack(name: string): void {
    if (this.#mujoco && this.#aside.has(name)) this.#mujoco[name] = this.#aside.get(name);
  }

  #makeMember(receiver: object, key: string): boolean {
    for (let at: object | null = receiver; at !== null; at = Reflect.getPrototypeOf(at)) {
      const type = this.#types.get(at);
      if (type !== undefined && this.#make(`${type}.${key}`)) return true;
    }
    return false;
  }
}

/** Makes the registration of a property that a receiver has not; tells whether there was one. */
type Make = (receiver: object, key: string) => boolean;

function topOf(prototype: object): object {
  const above = Reflect.getPrototypeOf(prototype);
  return above === null || above === Object.prototype ? prototype : topOf(above);
}

/** Puts a prototype above an object that is asked for properties that do not exist yet. */
function useFor(object: object, make: Make): void {
  const { get, set } = Reflect;
  Reflect.setPrototypeOf(
    object,
    new Proxy(
      {},
      {
        get: (target, key, receiver: object) =>
          typeof key === 'string' && make(receiver, key) ? get(receiver, key) : get(target, key, receiver),
        set: (target, key, value, receiver: object) =>
          typeof key === 'string' && make(receiver, key)
            ? set(receiver, key, value)
            : set(target, key, value, receiver),
        has: (target, key) => (typeof key === 'string' && make(object, key)) || key in target,
      },
    ),
  );
}
