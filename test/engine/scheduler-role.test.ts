/** A hub that gains and loses the role of the scheduler: it schedules, ends leases and sweeps only while it has it. */
import type { RoleHolder, Roles } from '@workbench-hub/hub/core/ports/roles';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  createTask,
  LEASE_MS,
  proven,
  type RunningEngine,
  SocketlessAgent,
  startEngine,
} from '../support/engine/running-engine.js';

/** The role, which the test gives and takes. */
function rolesByHand() {
  let holder: RoleHolder | undefined;
  const roles: Roles = {
    contend: async (contender) => {
      holder = contender;
    },
    resign: async () => {
      holder = undefined;
    },
  };
  return { roles, gain: (term: number) => holder?.gained(term), lose: () => holder?.lost() };
}

let engine: RunningEngine;
let role: ReturnType<typeof rolesByHand>;
beforeEach(async () => {
  role = rolesByHand();
  engine = await startEngine({ cluster: () => ({ roles: role.roles }) });
});
afterEach(() => engine.close());

const statusOf = async (id: string) => (await engine.tasks.get(id)).status;

it('a hub without the role accepts tasks and agents, and dispatches when it gains it', async () => {
  const agent = await SocketlessAgent.join(engine);
  const id = await createTask(engine);
  expect(await statusOf(id)).toBe('WAITING');
  await role.gain(3);
  await engine.runtime.settle();
  expect(agent.latest.ref.taskId).toBe(id);
});

it('a hub that lost the role dispatches nothing, and in its next term also what it heard nothing of', async () => {
  const claim = vi.spyOn(engine.store.queue, 'claim');
  await role.gain(3);
  const agent = await SocketlessAgent.join(engine, { instances: [{}, { id: 'sim-2' }] });
  const first = await createTask(engine);
  expect(agent.latest.ref.taskId).toBe(first);
  expect(claim).toHaveBeenLastCalledWith(expect.anything(), 3);
  await role.lose();
  const second = await createTask(engine);
  await agent.end(agent.latest.ref, 'OK');
  expect(await statusOf(first)).toBe('FINISHED');
  expect(await statusOf(second)).toBe('WAITING');
  // Enqueued by another hub, whose signal was lost.
  const { id: third, ...rest } = await unheardTask();
  await role.gain(5);
  await engine.runtime.settle();
  expect(agent.assigned.map(({ ref }) => ref.taskId)).toEqual([first, second, third]);
  expect(claim).toHaveBeenLastCalledWith(expect.anything(), 5);
  expect(rest.status).toBe('WAITING');
});

it('a hub that never had the role ends no lease', async () => {
  const id = await createTask(engine);
  const held = { taskId: id, attempt: 1, instanceId: 'sim-1' };
  const agent = await SocketlessAgent.join(engine, { running: [proven(held)] });
  expect(await statusOf(id)).toBe('RUNNING');
  await agent.disconnect();
  await engine.runtime.advance(2 * LEASE_MS);
  expect(await statusOf(id)).toBe('RUNNING');
});

it('a hub without the role ends no lease; in its term, leases begin anew', async () => {
  await role.gain(1);
  const agent = await SocketlessAgent.join(engine);
  const id = await createTask(engine);
  await role.lose();
  await agent.disconnect();
  await engine.runtime.advance(2 * LEASE_MS);
  expect(await statusOf(id)).toBe('RUNNING');
  await role.gain(2);
  await engine.runtime.advance(LEASE_MS - 1);
  expect(await statusOf(id)).toBe('RUNNING');
  await engine.runtime.advance(1);
  expect(await statusOf(id)).toBe('WAITING');
});

async function unheardTask() {
  const known = await engine.tasks.get(await createTask(engine));
  const [removed] = await engine.store.queue.cancel([known.id], ['WAITING'], 1);
  expect(removed).toBe(true);
  const task = { ...known, id: '019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77' };
  const job = { type: 'SIMULATE_WORK', durationS: 1 } as const;
  await engine.store.queue.insert([{ ...task, job }]);
  return task;
}
