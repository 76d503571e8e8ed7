import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import type { AgentConnection, AgentIntroduction } from '../core/ports/agents.js';
import type { Task } from '../core/task.js';
import { reconcile } from './reconciliation.js';

const AGENT = { id: 'agent-1', nodeId: 'n', version: '1', revision: '1' };

it('an attempt that its agent no longer holds is lost, and frees its instance in the views of all hubs', async () => {
  const happened: unknown[] = [];
  const instance = { id: 'sim-1', agentId: AGENT.id };
  const task = { id: 'task-1', status: 'RUNNING', attempt: 2, instance } as Task;
  const introduction = { agent: AGENT, instances: [], running: [], spooled: [] };
  await reconcile(introduction as unknown as AgentIntroduction, {} as AgentConnection, {
    queue: { runningOn: async () => [task] },
    transitions: { adopt: async () => [] },
    attempts: { lose: async ({ id }, loss) => void happened.push([id, loss]) },
    sessions: { isCurrent: () => true },
    signals: { tell: (signal) => void happened.push(signal) },
    clock: manualRuntime().clock,
    log: {} as Logger,
  });
  const ref = { taskId: 'task-1', attempt: 2, instanceId: 'sim-1' };
  const freed = { kind: 'FREED', agentId: AGENT.id, ref, coolsDown: false };
  expect(happened).toEqual([['task-1', 'LOSS'], freed]);
});
