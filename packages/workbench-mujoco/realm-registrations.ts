/**
 * Registrations (registrations.ts) in a job's realm: each is made when a script first uses the function, class or member.
 *
 * The compiled text of this file is evaluated in the realm (realm-sources.ts): it imports types only.
 */
import type { LaterCalls, LaterRegistrations, RegistrationCalls, SimulatorImports } from './realm-calls.js';

export interface RealmRegistrations {
  /** Completes a class or enumeration. */
  make(name: string): void;
  makeAll(): void;
}

/** Makes registrations when they are needed. */
export function registerWhenUsed(
  mujoco: Record<string, unknown>,
  imports: SimulatorImports,
  { classes, incomplete }: LaterRegistrations,
  { laterCalls, laterKeys }: RegistrationCalls,
): RealmRegistrations {
  const { parse } = JSON;
  const made = new Set<string>();
  const aside = new Map<string, unknown>();
  const make = (key: string): boolean => {
    const calls = made.has(key) ? undefined : laterCalls(key);
    if (calls === undefined) return false;
    made.add(key);
    if (aside.has(key)) mujoco[key] = aside.get(key);
    const later = parse(calls) as LaterCalls;
    for (const name of later.first) make(name);
    for (const [name, ...values] of later.calls) imports[name]?.(...values);
    return true;
  };

  const types = new Map<object, number>();
  for (const name of Object.keys(classes)) {
    types.set((mujoco[name] as { prototype: object }).prototype, classes[name] as number);
  }
  const [base] = types.keys();
  if (base) useFor(topOf(base), typed(types, make));
  for (const name of incomplete) {
    aside.set(name, mujoco[name]);
    delete mujoco[name];
  }
  useFor(mujoco, (_, key) => make(key));
  return {
    make: (key) => void make(key),
    makeAll() {
      for (const key of parse(laterKeys()) as string[]) make(key);
    },
  };
}

/** Makes the registration of a property that a receiver has not; tells whether there was one. */
type Make = (receiver: object, key: string) => boolean;

function typed(types: ReadonlyMap<object, number>, make: (key: string) => boolean): Make {
  return (receiver, key) => {
    for (let at: object | null = receiver; at !== null; at = Reflect.getPrototypeOf(at)) {
      const type = types.get(at);
      if (type !== undefined && make(`${type}.${key}`)) return true;
    }
    return false;
  };
}

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
