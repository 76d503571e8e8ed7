/** Tasks that a host returns for a host fault, such as a disk that is too small for them. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import { beforeEach, describe, expect, it } from 'vitest';
import { create, engine, engineForEachTest, join, restart } from '../support/engine/engine-for-each-test.js';
import type { SocketlessAgent } from '../support/engine/running-engine.js';

const REASON = "an input file could not be stored on the agent's host, whose disk is full: ENOSPC";
const TEN_MINUTES_MS = 600_000;

engineForEachTest();

let small: SocketlessAgent;
let large: SocketlessAgent;
/** Runs on the large host, and keeps it busy. */
let other: AttemptRef;
/** Task that the small host returned. */
let id: string;

beforeEach(async () => {
  large = await join({ id: 'large', nodeId: 'large', instances: [{ id: 'sim-l' }] });
  await create();
  other = large.latest.ref;
  small = await join({ id: 'small', nodeId: 'small', instances: [{ id: 'sim-s' }] });
  id = await create();
  await returnTask(small);
});

/** Until the cooldown of the host is over. */
async function returnTask(agent: SocketlessAgent): Promise<void> {
  await agent.end(agent.latest.ref, 'RETURNED', { hostFault: true, message: REASON });
  await engine.runtime.advance(1000);
}

const tasksOf = (agent: SocketlessAgent) => agent.assigned.map(({ ref }) => ref.taskId);

describe('a host that has returned a task', () => {
  it('does not get it again while another one fits, which gets it when it is idle', async () => {
    await engine.runtime.advance(60_000);
    expect(tasksOf(small)).toEqual([id]);
    await large.end(other, 'OK');
    expect(large.latest.ref).toEqual({ taskId: id, attempt: 2, instanceId: 'sim-l' });
  });

  it('gets the tasks behind it', async () => {
    const next = await create();
    expect(tasksOf(small)).toEqual([id, next]);
  });

  it('does not get it on another of its instances either', async () => {
    const twin = await join({ id: 'twin', nodeId: 'twin', instances: [{ id: 'sim-t1' }, { id: 'sim-t2' }] });
    expect(tasksOf(twin)).toEqual([id]);
    await returnTask(twin);
    expect(tasksOf(twin)).toEqual([id]);
  });

  it('does not get it after a restart of the hub either, for the rest of the ten minutes', async () => {
    await engine.runtime.advance(60_000);
    await restart();
    large = await join({ id: 'large', nodeId: 'large', instances: [{ id: 'sim-l' }], running: [other] });
    small = await join({ id: 'small', nodeId: 'small', instances: [{ id: 'sim-s' }] });
    expect(tasksOf(small)).toEqual([]);
    await engine.runtime.advance(TEN_MINUTES_MS - 61_001);
    expect(tasksOf(small)).toEqual([]);
    await engine.runtime.advance(1);
    expect(tasksOf(small)).toEqual([id]);
  });

  it('gets it again when the other one disconnects', async () => {
    await large.disconnect();
    await engine.runtime.settle();
    expect(tasksOf(small)).toEqual([id, id]);
  });

  it('gets it again when the other one has returned it as well', async () => {
    await large.end(other, 'OK');
    await returnTask(large);
    expect(small.latest.ref).toEqual({ taskId: id, attempt: 3, instanceId: 'sim-s' });
  });

  it('gets it again after ten minutes, when there may be space', async () => {
    await engine.runtime.advance(TEN_MINUTES_MS - 1001);
    expect(tasksOf(small)).toEqual([id]);
    await engine.runtime.advance(1);
    expect(tasksOf(small)).toEqual([id, id]);
  });

  it('is not excluded again by a repeated report after that time', async () => {
    const { ref } = small.latest;
    await create();
    expect(small.assigned).toHaveLength(2);
    await engine.runtime.advance(TEN_MINUTES_MS);
    await small.end(ref, 'RETURNED', { hostFault: true, message: REASON });
    const { exclusions } = await engine.explanations.ofTask(await engine.tasks.get(id));
    expect(exclusions).toEqual([]);
  });

  it.each(['ends', 'is canceled'])('leaves no exclusion of a task that %s', async (how) => {
    const notes = () => engine.runtime.pendingTimers;
    const noted = notes();
    if (how === 'ends') {
      await large.end(other, 'OK');
      await large.end(large.latest.ref, 'OK');
    } else await engine.tasks.cancel(id, false, ANYBODY);
    expect(notes()).toBe(noted - 1);
  });

  it('is named with the reason in the explanation of why the task waits', async () => {
    const { message, fitting, exclusions } = await engine.explanations.ofTask(await engine.tasks.get(id));
    expect(message).toBe(
      `1 fitting instance is busy, 0 tasks are ahead. Agent small returned it 1 s ago: ${REASON}.`,
    );
    expect(fitting).toEqual({ idle: 0, busy: 1, kept: 0, ending: 0, down: 1, unreachable: 0, drained: 0 });
    expect(exclusions).toEqual([{ agentId: 'small', reason: REASON, atMs: expect.any(Number) }]);
    expect(engine.tasks.waitMessage(await engine.tasks.get(id))).toBe(
      'The task waits for a workbench instance again, after 1 attempt that could not end. ' +
        `1 fitting instance is busy. Agent small returned it 1 s ago: ${REASON}.`,
    );
  });
});
