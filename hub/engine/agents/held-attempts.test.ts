import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { describe, expect, it } from 'vitest';
import type { ClaimedTask } from '../../core/ports/task-queue.js';
import { HeldAttempts } from './held-attempts.js';

const REF = { taskId: 'task-1', attempt: 1, instanceId: 'sim-1' };
const RUNNING = [{ agentId: 'agent-1', ref: REF }];

/** A comparison beside one agent, which has no attempts. */
function heldAttempts(state: { isReconciled: boolean }, assigned: ClaimedTask[]): HeldAttempts {
  const task = { id: 'task-1', status: 'RUNNING', attempt: 1, instance: { id: 'sim-1', agentId: 'agent-1' } };
  return new HeldAttempts({
    sessions: {
      agentIds: ['agent-1'],
      isReconciled: () => state.isReconciled,
      heldBy: () => [],
      assign: (claimed) => {
        assigned.push(claimed);
        return 'SENT';
      },
      cancel: () => undefined,
    },
    archive: {
      find: async () => task as never,
      jobOf: async () => ({}) as never,
      checkpointOf: async () => [],
    },
    transitions: { started: () => undefined } as never,
    log: { info: () => undefined, warn: () => undefined } as unknown as Logger,
  });
}

describe('an attempt that its agent does not have', () => {
  it('is sent again at the second comparison', async () => {
    const assigned: ClaimedTask[] = [];
    const held = heldAttempts({ isReconciled: true }, assigned);
    await held.compare(RUNNING);
    expect(assigned).toEqual([]);
    await held.compare(RUNNING);
    expect(assigned.map(({ ref }) => ref)).toEqual([REF]);
  });

  it('is not sent while the attempts of the agent are reconciled, which requeue its task', async () => {
    const assigned: ClaimedTask[] = [];
    const state = { isReconciled: false };
    const held = heldAttempts(state, assigned);
    for (let times = 0; times < 3; times++) await held.compare(RUNNING);
    expect(assigned).toEqual([]);
    state.isReconciled = true;
    for (let times = 0; times < 2; times++) await held.compare(RUNNING);
    expect(assigned).toHaveLength(1);
  });
});
