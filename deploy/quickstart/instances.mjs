// The workbench instances of the quickstart.
import { setTimeout as delay } from 'node:timers/promises';
import { getJson } from './job.mjs';
import { assertRunning } from './programs.mjs';

/** Time in which programs must be ready. */
export const READY_TIMEOUT_MS = 60_000;

const POLL_MS = 100;

/** Keys of an instance that simulates with MuJoCo, without its id. */
export const MUJOCO = {
  version: '3.14.0',
  labels: ['multibody', 'mujoco'],
  command: ['workbench-mujoco'],
};

/** Keys of an instance that runs scripts, for the job of README.md. */
export const SIM = { version: '9.1.0', labels: ['gears'] };

/** Waits until so many instances of these agents are up; resolves with them. */
export async function instancesUp(baseUrl, agents, count, timeoutMs = READY_TIMEOUT_MS) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const { content } = await getJson(`${baseUrl}/api/2.0/workbench/node/instance/list?status=UP`);
    if (content.length === count) return content;
    for (const agent of agents) assertRunning(agent);
    if (Date.now() > deadline) {
      const logs = agents.map(({ outFile }) => outFile).join(', ');
      throw new Error(`The instances were not ready in time. The log of the agent is ${logs}`);
    }
    await delay(POLL_MS);
  }
}
