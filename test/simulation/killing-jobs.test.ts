/** Jobs that kill every program that runs them, in a world without other faults and without an operator. */
import type { TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import type { InstanceStatus } from '@workbench-hub/shared/domain/instance';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { Invariants } from './invariants.js';
import { Network } from './network.js';
import { LIMITS } from './settings.js';
import { SimulatedAgent } from './simulated-agent.js';
import { SimulatedHub } from './simulated-hub.js';
import { SimulatedHubs } from './simulated-hubs.js';
import { World } from './world.js';

const KILLING_JOBS = 7;
const INSTANCES = ['sim-1', 'sim-2', 'sim-3'];
const HOUR_MS = 3_600_000;

it('a good job behind seven that kill their program finishes, although they drive every instance into a crash loop', async () => {
  const world = new World(1);
  world.turbulent = false;
  const network = new Network(world, undefined);
  const log = pino({ enabled: false }) as Logger;
  const hub = new SimulatedHub({ world, network, logFor: () => log, breakage: undefined });
  const agents: SimulatedAgent[] = [];
  const invariants = new Invariants(world, () => agents);
  hub.observer = invariants.observerOf(hub.name, true);
  const killing: string[] = [];
  let good: string | undefined;
  const agent = new SimulatedAgent(
    'agent-1',
    INSTANCES.map((id) => ({ id, version: '1', revision: '1', labels: [] })),
    {
      world,
      network,
      hubs: new SimulatedHubs(world, [hub]),
      addresses: [hub.address],
      rules: {
        mayHang: () => false,
        // Every other job kills, also one that runs before the response to its creation.
        kills: (taskId) => taskId !== good,
        troubles: { crash: 0, hang: 0, fail: 0, deaf: 0, badStart: 0 },
      },
      logFor: () => log,
      breakage: undefined,
      onAssigned: () => undefined,
      onCancel: (ref) => invariants.canceled(ref),
      onSettled: (report, counted) => invariants.settled(report, counted),
    },
  );
  agents.push(agent);

  const statuses = () => hub.engine?.instances.list().map(({ status }) => status) ?? [];
  const areAll = (wanted: InstanceStatus) =>
    statuses().length === INSTANCES.length && statuses().every((status) => status === wanted);
  let tasks: TaskState[] = [];
  const stateOf = (id: string) => tasks.find((task) => task.id === id);
  async function until(holds: () => boolean): Promise<void> {
    const untilMs = world.nowMs + 4 * HOUR_MS;
    while (!holds()) {
      if (world.nowMs > untilMs) expect.fail(`timed out; instances: ${statuses().join(', ')}`);
      if (!(await world.step())) expect.fail('nothing is left to happen');
      const changed = hub.changes();
      if (!changed) continue;
      tasks = changed;
      invariants.look(tasks);
    }
  }
  async function createTask(): Promise<string> {
    let id: string | undefined;
    hub.request(
      ({ tasks }) =>
        tasks.create({
          name: null,
          creator: null,
          classifiers: [],
          timeLimitS: null,
          job: { type: 'SIMULATE_WORK', durationS: 10 },
        }),
      (task) => {
        id = task.id;
        invariants.created(id);
      },
    );
    await until(() => id !== undefined);
    return id as string;
  }

  void hub.start();
  await until(() => hub.engine !== undefined);
  agent.start();
  await until(() => areAll('UP'));
  for (let count = 0; count < KILLING_JOBS; count++) killing.push(await createTask());
  const last = await createTask();
  good = last;
  await until(() => areAll('FAILED'));
  expect(stateOf(last)?.status).toBe('WAITING');

  const failedAtMs = world.nowMs;
  await until(() => stateOf(last)?.status === 'FINISHED');
  expect(world.nowMs - failedAtMs).toBeLessThan(2 * HOUR_MS);
  // Some of them may still run, or wait for their last attempt.
  await until(() => killing.every((id) => stateOf(id)?.status === 'FAILED'));
  for (const id of killing) {
    expect(stateOf(id)).toMatchObject({ status: 'FAILED', attempt: LIMITS.maxAttempts });
  }
  expect(world.violations).toEqual([]);
  agent.kill();
  hub.kill();
});
