/** The parts of the engine call each other in one direction only, also at run time: a call in the opposite direction, through a
 *  closure for example, makes a cycle of parts that can only be understood together. Events replace such calls; handlers of
 *  events are properties, not methods, and start a new chain of calls. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ANYBODY } from '@workbench-hub/hub/core/access';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  create,
  engine,
  engineForEachTest,
  join as joinAgent,
  rejoin,
} from '../support/engine/engine-for-each-test.js';
import { LEASE_MS } from '../support/engine/running-engine.js';

type Class = abstract new (...args: never[]) => object;

/** The classes of the engine, by name. */
async function classesOfEngine(): Promise<Map<string, Class>> {
  const folder = dirname(fileURLToPath(import.meta.resolve('@workbench-hub/hub/engine/engine')));
  const files = await readdir(folder, { recursive: true });
  const classes = new Map<string, Class>();
  for (const file of files.filter((name) => /^(?!.*(?:\.test|fixtures)).*\.js$/.test(name))) {
    const exported: Record<string, unknown> = await import(pathToFileURL(join(folder, file)).href);
    for (const [name, value] of Object.entries(exported)) if (isClass(value)) classes.set(name, value);
  }
  return classes;
}

function isClass(value: unknown): value is Class {
  return (
    typeof value === 'function' && String(value).startsWith('class ') && !(value.prototype instanceof Error)
  );
}

const PARTS = await classesOfEngine();

/** Methods that only add a subscriber, and those by which an event reaches the scheduler: `engine.ts` calls these alone. */
const EVENT_TARGETS = new Set(['Scheduler.wake', 'Scheduler.pause', 'Scheduler.resume']);

/** `A -> B` for each part A that has called a method of B. */
const calls = new Set<string>();
const caller = new AsyncLocalStorage<string>();
const restores: (() => void)[] = [];

beforeEach(() => {
  calls.clear();
  for (const [part, { prototype }] of PARTS) observe(part, prototype);
});
afterEach(() => {
  for (const restore of restores.splice(0)) restore();
});
engineForEachTest();

/** Records each call of a method of this part, with its caller. */
function observe(part: string, prototype: object): void {
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    const method: unknown = property.value;
    if (name === 'constructor' || typeof method !== 'function') continue;
    const value = function observed(this: unknown, ...args: unknown[]) {
      const from = caller.getStore();
      if (from !== undefined && from !== part && !EVENT_TARGETS.has(`${part}.${name}`))
        calls.add(`${from} -> ${part}`);
      return caller.run(part, () => Reflect.apply(method, this, args));
    };
    Object.defineProperty(prototype, name, { ...property, value });
    restores.push(() => Object.defineProperty(prototype, name, property));
  }
}

/** A cycle among these calls, as the parts on its way; undefined when there is none. */
function cycleIn(edges: Iterable<string>): string[] | undefined {
  const targets = new Map<string, string[]>();
  for (const edge of edges) {
    const [from = '', to = ''] = edge.split(' -> ');
    targets.set(from, [...(targets.get(from) ?? []), to]);
  }
  const visit = (part: string, way: readonly string[]): string[] | undefined => {
    if (way.includes(part)) return [...way.slice(way.indexOf(part)), part];
    for (const target of targets.get(part) ?? []) {
      const cycle = visit(target, [...way, part]);
      if (cycle) return cycle;
    }
    return undefined;
  };
  for (const part of targets.keys()) {
    const cycle = visit(part, []);
    if (cycle) return cycle;
  }
  return undefined;
}

it('a cycle would be found', () => {
  expect(cycleIn(['A -> B', 'B -> C', 'A -> C'])).toBeUndefined();
  expect(cycleIn(['A -> B', 'B -> C', 'C -> B'])).toEqual(['B', 'C', 'B']);
});

it('the parts of the engine call each other without a cycle in all transitions of tasks', async () => {
  let agent = await joinAgent();
  await create();
  await agent.end(agent.latest.ref, 'OK');
  await create();
  await agent.end(agent.latest.ref, 'RETURNED', { hostFault: true, message: 'its disk is full' });
  await engine.runtime.advance(1000);
  await agent.end(agent.latest.ref, 'INSTANCE_LOST');
  const { ref } = agent.latest;
  await agent.disconnect();
  agent = await rejoin(agent, { running: [ref] });
  await engine.tasks.cancel(ref.taskId, true, ANYBODY);
  await agent.end(ref, 'CANCELED');
  const waiting = await create();
  await agent.disconnect();
  await engine.runtime.advance(LEASE_MS);
  await engine.explanations.ofTask(await engine.tasks.get(waiting));
  await engine.shutdown.change(true);
  await engine.tasks.awaitEnd(ref.taskId, 'SIMULATE_WORK', 1000, () => new AbortController().signal);
  await engine.tasks.remove(ref.taskId, ANYBODY);
  await engine.sweep();
  expect([...calls].sort()).toContain('Agents -> Attempts');
  expect([...calls].sort()).toContain('Scheduler -> AgentSessions');
  expect(cycleIn(calls)).toBeUndefined();
});
