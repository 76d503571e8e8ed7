/** The engine of the running test with one recipe of hosts, whose workload manager is in memory. */
import type { HostRecipe } from '@workbench-hub/hub/core/hosts/host-recipe';
import { engine, join, startAnew } from './engine-for-each-test.js';
import { ManagerInMemory, recipeWith } from './manager-in-memory.js';
import type { EngineSetup, SocketlessAgent } from './running-engine.js';

export const MINUTE_MS = 60_000;
/** Time in which the engine has looked twice, and the workload manager was asked. */
export const SOON_MS = 5000;

/** The workload manager of the running test. */
export let manager: ManagerInMemory;

/** Replaces the running engine with an empty one, whose recipe has these fields. */
export async function startWith(
  fields: Partial<HostRecipe> = {},
  setup: Pick<EngineSetup, 'maxLosses'> = {},
): Promise<void> {
  manager = new ManagerInMemory();
  await startAnew({ ...setup, hosts: [recipeWith(manager, fields)] });
  manager.clock = engine.runtime.clock;
  // Agents have a moment to join again after the start of a hub.
  await pass(MINUTE_MS);
}

export const pass = (timeMs = SOON_MS): Promise<void> => engine.runtime.advance(timeMs);

/** Lets time pass until something is so; how often the engine acts in a time depends on the speed of the machine. */
export async function passUntil(isSo: () => boolean | Promise<boolean>, withinMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < withinMs; passedMs += SOON_MS) {
    if (await isSo()) return;
    await pass();
  }
}

/** The agent of an allocation joins, with one instance. */
export const joinAs = (name: string, instance: object = {}): Promise<SocketlessAgent> =>
  join({ id: name, instances: [{ id: `${name}-sim`, ...instance }] });
