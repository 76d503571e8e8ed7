/** One engine for each test of a file: started before the test, ended and its files removed after it. */
import { afterEach, beforeEach } from 'vitest';
import {
  type AgentSetup,
  createTask,
  type EngineSetup,
  type NewWork,
  type RunningEngine,
  SocketlessAgent,
  startEngine,
} from './running-engine.js';

/** The engine of the running test. */
export let engine: RunningEngine;

/** Registers the hooks; call it once at the top of the file. */
export function engineForEachTest(): void {
  beforeEach(async () => {
    engine = await startEngine();
  });
  afterEach(() => engine.close());
}

/** Replaces the running engine with an empty one of this setup. */
export async function startAnew(setup: EngineSetup): Promise<void> {
  await engine.close();
  engine = await startEngine(setup);
}

/** Ends the engine like a killed hub, and starts one on the same files. */
export async function restart(): Promise<void> {
  engine = await engine.restart();
}

/** Creates a task, by default a second of simulated work, waits until the engine is idle, and returns the id. */
export const create = (work?: NewWork) => createTask(engine, work);

/** An agent joins, by default with instance sim-1. */
export const join = (setup?: AgentSetup) => SocketlessAgent.join(engine, setup);

/** The same agent joins again after its connection broke or was replaced. */
export const rejoin = ({ id, nodeId }: SocketlessAgent, setup?: AgentSetup) => join({ id, nodeId, ...setup });
