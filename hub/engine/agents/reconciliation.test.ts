import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { allocationWith } from '../../core/hosts/fixtures/allocation.js';
import type { AgentConnection, AgentIntroduction } from '../../core/ports/agents.js';
import type { Task } from '../../core/task.js';
import { reconcile } from './reconciliation.js';

const AGENT = { id: 'agent-1', nodeId: 'n', version: '1', revision: '1' };

/** Joins without an attempt that the agent has by the rows; resolves with the consequences. */
async function joinWithout(isHeldHere: boolean, isOfAllocation = false): Promise<unknown[]> {
  const happened: unknown[] = [];
  const instance = { id: 'sim-1', agentId: AGENT.id };
  const task = { id: 'task-1', status: 'RUNNING', attempt: 2, instance } as Task;
  const connection = { close: () => void happened.push('closed') } as unknown as AgentConnection;
  const introduction = { agent: AGENT, instances: [], running: [], spooled: [] };
  await reconcile(introduction as unknown as AgentIntroduction, connection, {
    queue: { runningOn: async () => [task] },
    transitions: { adopt: async () => [] },
    attempts: { lose: async ({ id }, loss) => happened.push([id, loss]) > 0 },
    proofs: { holds: () => false },
    presence: { holds: async (_, epoch) => isHeldHere && epoch === 7 },
    allocations: { find: async () => (isOfAllocation ? allocationWith({ id: AGENT.id }) : undefined) },
    sessions: { isCurrent: () => true, epochOf: () => 7 },
    signals: { tell: (signal) => void happened.push(signal) },
    clock: manualRuntime().clock,
    log: {} as Logger,
  });
  return happened;
}

it('an attempt that its agent no longer holds is lost, and frees its instance in the views of all hubs', async () => {
  const ref = { taskId: 'task-1', attempt: 2, instanceId: 'sim-1' };
  const freed = { kind: 'FREED', agentId: AGENT.id, ref, coolsDown: false };
  expect(await joinWithout(true)).toEqual([['task-1', 'LOSS'], freed]);
});

it('an attempt of an agent that a workload manager has started a second time is returned', async () => {
  expect((await joinWithout(true, true))[0]).toEqual(['task-1', 'RETURN']);
});

it('an attempt of an agent that has joined another hub meanwhile is left to that hub', async () => {
  expect(await joinWithout(false)).toEqual(['closed']);
});
