/** For files in which each test has an engine of its own: started before it, ended after it, with its files removed. */
import { afterEach, beforeEach } from 'vitest';
import {
  type AgentSetup,
  type EngineSetup,
  handIn,
  type RunningEngine,
  SocketlessAgent,
  startEngine,
  type WorkToHandIn,
} from './running-engine.js';

/** That of the test that runs. */
export let engine: RunningEngine;

/** To be called once, at the top of the file. */
export function engineForEachTest(): void {
  beforeEach(async () => {
    engine = await startEngine();
  });
  afterEach(() => engine.close());
}

/** Puts an engine of this setup, which knows of nothing, in the place of the one that runs. */
export async function startAnew(setup: EngineSetup): Promise<void> {
  await engine.close();
  engine = await startEngine(setup);
}

/** Ends the engine as a hub that is killed would, and starts one on the same files. */
export async function restart(): Promise<void> {
  engine = await engine.restart();
}

/** Hands in a second of simulated work, or this, and waits until all that follows has come to rest. Gives the id of the task. */
export const create = (work?: WorkToHandIn) => handIn(engine, work);

/** An agent comes, which holds instance sim-1 unless the setup says otherwise. */
export const join = (setup?: AgentSetup) => SocketlessAgent.join(engine, setup);

/** The agent again, after its connection broke or another one replaced it. */
export const comeBack = ({ id, nodeId }: SocketlessAgent, setup?: AgentSetup) =>
  join({ id, nodeId, ...setup });
