/** Check that a thread is as it was when it was started: the second guard beside the realms of jobs. */
import fs from 'node:fs';
import path from 'node:path';
import util from 'node:util';
import v8 from 'node:v8';
import type { Isolation } from './isolation.js';

export interface ObservedThread {
  /** Tells in which way the thread differs from the time of the observation, if it does. */
  difference(isolation: Isolation): string | undefined;
}

/** Beyond this the memory of finished jobs is not freed as it should be. */
const MAX_MEMORY_BYTES = 768 * 1024 * 1024;
const MAX_REALMS = 400;

/** Built-in objects of JavaScript that no global name leads to. */
const HIDDEN = [
  Object.getPrototypeOf(Int8Array),
  Object.getPrototypeOf([][Symbol.iterator]()),
  Object.getPrototypeOf(''[Symbol.iterator]()),
  Object.getPrototypeOf(new Map()[Symbol.iterator]()),
  Object.getPrototypeOf(new Set()[Symbol.iterator]()),
  Object.getPrototypeOf(async () => undefined),
  Object.getPrototypeOf(function* (): Generator<undefined> {
    yield undefined;
  }),
  Object.getPrototypeOf(async function* (): AsyncGenerator<undefined> {
    yield undefined;
  }),
] as object[];

/** Observes the thread as it is now. */
export function observeThread(): ObservedThread {
  const objects = [...watchedObjects()].map(([object, name]) => ({ name, object, was: contentOf(object) }));
  const wasAround = surroundings();
  return {
    difference(isolation) {
      const { used_heap_size, external_memory, number_of_native_contexts } = v8.getHeapStatistics();
      if (used_heap_size + external_memory > MAX_MEMORY_BYTES) return 'its memory has grown';
      if (number_of_native_contexts > MAX_REALMS) return 'realms of ended jobs are left';
      const left = process.getActiveResourcesInfo().filter((resource) => resource !== 'MessagePort');
      if (left.length > 0) return `a job has left ${left.join(', ')}`;
      if (isolation === 'none') return undefined;
      const changed = objects.find(({ object, was }) => isDifferent(was, contentOf(object)));
      if (changed) return `a job has changed ${changed.name}`;
      const around = surroundings();
      return Object.keys(around).find((name) => around[name] !== wasAround[name]);
    },
  };
}

/** Built-in objects of the thread's own realm, and modules that the thread uses. */
function watchedObjects(): Map<object, string> {
  const watched = new Map<object, string>([
    [fs, 'node:fs'],
    [path, 'node:path'],
    [util, 'node:util'],
    [globalThis, 'the global object'],
  ]);
  for (const hidden of HIDDEN) watched.set(hidden, 'a built-in object');
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(globalThis))) {
    if (!isObject(value)) continue;
    if (!watched.has(value)) watched.set(value, name);
    const prototype: unknown = Object.getOwnPropertyDescriptor(value, 'prototype')?.value;
    if (isObject(prototype) && !watched.has(prototype)) watched.set(prototype, `${name}.prototype`);
  }
  return watched;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** Prototype, names, values and accessors of an object. */
function contentOf(object: object): unknown[] {
  const content: unknown[] = [Object.getPrototypeOf(object)];
  for (const key of Reflect.ownKeys(object)) {
    // Node.js keeps the listeners of a process in such.
    if (object === process && typeof key === 'string' && key.startsWith('_')) continue;
    const { value, get, set } = Object.getOwnPropertyDescriptor(object, key) ?? {};
    content.push(key, value, get, set);
  }
  return content;
}

function isDifferent(was: readonly unknown[], is: readonly unknown[]): boolean {
  return was.length !== is.length || was.some((value, index) => !Object.is(value, is[index]));
}

/** State beside the objects, by the message about its change. */
function surroundings(): Record<string, string> {
  return {
    'a job has changed the environment': JSON.stringify(process.env),
    'a job has left listeners': process
      .eventNames()
      .map((name) => `${String(name)}: ${process.listenerCount(name)}`)
      .join(),
  };
}
