import { expect, it } from 'vitest';
import type { AgentView } from '../../../core/ports/nodes.js';
import type { Task } from '../../../core/task.js';
import { presentBatchJobResult, presentServer, presentSimulateWorkResult } from './present.js';

it.each([
  ['192.0.2.7', 'http://192.0.2.7'],
  ['2001:db8::7', 'http://[2001:db8::7]'],
  ['::1', 'http://[::1]'],
  [null, ''],
])('the base address of a server at %s is %j', (address, baseUrl) => {
  const agent = { id: 'host', version: '1.0.0', address, instances: [], status: 'UP' };
  expect(presentServer(agent as unknown as AgentView, '1.1', 'https://hub.example.org').baseUrl).toBe(
    baseUrl,
  );
});

/** A requeued task keeps the instance of its last attempt while it waits. */
it.each([presentSimulateWorkResult, presentBatchJobResult])(
  'a requeued task shows no workbench: %o',
  (present) => {
    const instance = { agentId: 'host', id: 'sim', version: '9.1.0', revision: '4711' };
    const task = { id: 'a', status: 'WAITING', instance, startedAtMs: null, batchExecutionStatus: null };
    expect(present(task as unknown as Task, '1.1')).not.toHaveProperty('executingWorkbench');
    const running = { ...task, status: 'RUNNING', startedAtMs: 1 };
    expect(present(running as unknown as Task, '1.1')).toMatchObject({
      executingWorkbench: { version: '9.1.0', revision: '4711' },
    });
    expect(present(running as unknown as Task, '1.0')).not.toHaveProperty('executingWorkbench');
  },
);
