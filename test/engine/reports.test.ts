/** Reports of agents, their consequences for tasks, and reports that are dropped. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { ANYBODY } from '@workbench-hub/hub/core/access';
import type { FileRef, Job } from '@workbench-hub/shared/domain/job';
import { describe, expect, it } from 'vitest';
import { create, engine, engineForEachTest, join, rejoin } from '../support/engine/engine-for-each-test.js';
import { LEASE_MS } from '../support/engine/running-engine.js';

engineForEachTest();

/** Time for which an instance that has returned a task gets none. */
const COOLDOWN_MS = 1000;

function refOf(content: string): FileRef {
  const digest = createHash('sha256').update(content).digest('hex');
  return { digest, sizeBytes: content.length };
}

async function batchJob(): Promise<Job> {
  const script = await engine.files.put(Buffer.from('// nothing'));
  return { type: 'EXECUTE_BATCH_JOB', model: null, scripts: [script], additionalFiles: [], variables: [] };
}

describe('a report', () => {
  it('ends the task with its files and its log, and releases the instance', async () => {
    const agent = await join();
    const id = await create({ job: await batchJob() });
    const next = await create();
    const motion = await engine.files.put(Buffer.from('t;x\n'));
    const plot = await engine.files.put(Buffer.from('<svg/>'));
    const log = await engine.files.put(Buffer.from('hello\n'));
    await engine.runtime.advance(2500);
    const { ref } = agent.latest;
    const outputFiles = [
      { path: 'motion.csv', ...motion },
      { path: 'plots/a.svg', ...plot },
    ];
    expect(await agent.end(ref, 'OK', { outputFiles, log })).toBe(true);

    const task = await engine.tasks.get(id);
    expect(task).toMatchObject({ status: 'FINISHED', batchExecutionStatus: 'OK', message: null });
    expect(task.endedAtMs).toBe((task.startedAtMs ?? 0) + 2500);
    const outputs = (await engine.tasks.outputs(id)).map(async ({ path, sizeBytes, open }) => ({
      path,
      sizeBytes,
      content: Buffer.concat(await (await open()).toArray()).toString(),
    }));
    expect(await Promise.all(outputs)).toEqual([
      { path: 'motion.csv', sizeBytes: 4, content: 't;x\n' },
      { path: 'plots/a.svg', sizeBytes: 6, content: '<svg/>' },
    ]);
    expect(await engine.tasks.log(id)).toMatchObject({ kind: 'FILE', file: { sizeBytes: 6 } });
    expect(agent.latest.ref.taskId).toBe(next);
  });

  it('counts once: repeated, it is acknowledged without effect', async () => {
    const agent = await join();
    const id = await create();
    const { ref } = agent.latest;
    expect(await agent.end(ref, 'OK')).toBe(true);
    expect(await agent.end(ref, 'FAILED', { message: 'no' })).toBe(false);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FINISHED', message: null });
  });

  it('counts once even if it comes twice at the same time', async () => {
    const agent = await join();
    await create();
    const { ref } = agent.latest;
    const [first, second] = await Promise.all([agent.end(ref, 'OK'), agent.end(ref, 'OK')]);
    expect([first, second]).toContain(true);
    const settled = agent.heard.filter((message) => message.type === 'acknowledged');
    expect(settled.map(({ counted }) => counted)).toEqual([true, false]);
  });

  it.each([
    ['of an unknown task', { taskId: '019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77' }],
    ['of another attempt', { attempt: 7 }],
    ['of another instance', { instanceId: 'sim-9' }],
  ])('is dropped when it is %s', async (_, other) => {
    const agent = await join();
    const id = await create();
    expect(await agent.end({ ...agent.latest.ref, ...other }, 'OK')).toBe(false);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING' });
    expect(engine.instances.find('sim-1')).toMatchObject({ working: true });
  });

  it.each([
    ['that is connected', false],
    ['that is lost', true],
  ])('is refused for the task of another agent %s', async (_, isLost) => {
    const agent = await join();
    const id = await create();
    const { ref } = agent.latest;
    if (isLost) {
      await agent.disconnect();
      await engine.runtime.advance(LEASE_MS + 1000);
    }
    const status = isLost ? 'WAITING' : 'RUNNING';
    const impostor = await join({
      id: 'agent-2',
      instances: [{ id: 'sim-2', labels: [], status: 'STARTING' }],
      running: [ref],
    });
    expect(impostor.heard).toContainEqual({ type: 'cancel', ref });
    await impostor.say({ type: 'output', ref, offset: 0, text: 'forged' });
    expect(await impostor.end(ref, 'FAILED', { message: 'forged' })).toBe(false);
    expect(await impostor.end(ref, 'RETURNED')).toBe(false);
    expect(await engine.tasks.get(id)).toMatchObject({ status, message: null });
    expect(await engine.tasks.log(id)).not.toMatchObject({ text: 'forged' });
    if (isLost) return;
    expect(engine.instances.find('sim-1')).toMatchObject({ working: true });
    expect(await agent.end(ref, 'OK')).toBe(true);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FINISHED' });
  });

  it('brings small blobs, which are kept as those that were uploaded', async () => {
    const agent = await join();
    const id = await create({ job: await batchJob() });
    const outputFiles = [
      { path: 'a.txt', ...refOf('a') },
      { path: 'again.txt', ...refOf('a') },
    ];
    expect(await agent.end(agent.latest.ref, 'OK', { outputFiles, log: refOf('log') }, ['a', 'log'])).toBe(
      true,
    );
    const outputs = (await engine.tasks.outputs(id)).map(async ({ path, open }) => [
      path,
      Buffer.concat(await (await open()).toArray()).toString(),
    ]);
    expect(await Promise.all(outputs)).toEqual([
      ['a.txt', 'a'],
      ['again.txt', 'a'],
    ]);
    expect(await engine.tasks.log(id)).toMatchObject({ kind: 'FILE', file: { sizeBytes: 3 } });
  });

  it('that brings another blob than it names is a protocol violation without effect', async () => {
    const agent = await join();
    const id = await create();
    const named = { path: 'a', ...refOf('a') };
    expect(await agent.end(agent.latest.ref, 'OK', { outputFiles: [named] }, ['b'])).toBeUndefined();
    expect(agent.ended).toBe(`fault: a report of task ${id} names a file that was not sent, ${named.digest}`);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING' });
  });

  it('that does not count leaves none of its blobs', async () => {
    const agent = await join();
    await create();
    const { ref } = agent.latest;
    await agent.end(ref, 'OK');
    expect(await agent.end(ref, 'OK', { log: refOf('late') }, ['late'])).toBe(false);
    await engine.files.reclaim();
    expect(await engine.files.find(refOf('late').digest)).toBeUndefined();
  });

  it('that does not count leaves no checkpoint that was uploaded for it', async () => {
    const agent = await join();
    await create();
    const { ref } = agent.latest;
    await agent.end(ref, 'OK');
    const file = refOf('state');
    await engine.sentBlobs.receive(agent.id, file, Readable.from([Buffer.from('state')]), 0);
    expect(await agent.end(ref, 'RETURNED', { checkpoint: [{ path: 'state', ...file }] })).toBe(false);
    await engine.files.reclaim();
    expect(await engine.files.find(file.digest)).toBeUndefined();
  });

  it('brings no plain form of a blob that is encrypted', async () => {
    const secret = await engine.files.storeEncrypted(Readable.from([Buffer.from('secret')]), 100);
    const agent = await join();
    const id = await create({
      job: { ...(await batchJob()), additionalFiles: [{ path: 's', ...secret }] } as Job,
    });
    const outputFiles = [{ path: 'copy', ...refOf('secret') }];
    expect(await agent.end(agent.latest.ref, 'OK', { outputFiles }, ['secret'])).toBe(true);
    const [copy] = await engine.tasks.outputs(id);
    expect(Buffer.concat(await ((await copy?.open())?.toArray() ?? [])).toString()).toBe('secret');
    expect(await engine.files.find(refOf('secret'))).toBeUndefined();
  });

  it('that names a file that was not uploaded is a protocol violation without effect', async () => {
    const agent = await join();
    const id = await create();
    const digest = 'd'.repeat(64);
    const outputFiles = [{ path: 'a', digest, sizeBytes: 1 }];
    expect(await agent.end(agent.latest.ref, 'OK', { outputFiles })).toBeUndefined();
    expect(agent.ended).toBe(`fault: a report of task ${id} names a file that was not sent, ${digest}`);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING' });
  });
});

describe('a crashed instance', () => {
  it('has its task requeued up to maxAttempts attempts, and then failed with the reason', async () => {
    const agent = await join();
    const id = await create();
    for (const attempt of [1, 2, 3]) {
      expect(agent.latest.ref).toEqual({ taskId: id, attempt, instanceId: 'sim-1' });
      expect(await agent.end(agent.latest.ref, 'INSTANCE_LOST', { message: 'signal 11' })).toBe(true);
    }
    expect(await engine.tasks.get(id)).toMatchObject({
      status: 'FAILED',
      batchExecutionStatus: null,
      message: 'the workbench instance died 3 times while it ran this task (tasks.maxAttempts): signal 11',
    });
    expect(agent.assigned).toHaveLength(3);
  });

  it('is counted once even if the connection breaks before the acknowledgement', async () => {
    const agent = await join({ instances: [{}] });
    const id = await create();
    const { ref } = agent.latest;
    await agent.say({
      type: 'instance',
      instance: { id: 'sim-1', version: '9', revision: '1', labels: [], status: 'DOWN', upForMs: null },
    });
    await agent.end(ref, 'INSTANCE_LOST');
    await agent.disconnect();
    const again = await rejoin(agent, {
      spooled: [ref],
      instances: [{ status: 'STARTING', upForMs: null }],
    });
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', crashes: 1 });
    expect(await again.end(ref, 'INSTANCE_LOST')).toBe(false);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', crashes: 1 });
  });
});

describe('the output of a running task', () => {
  const text = async (id: string) => {
    const log = await engine.tasks.log(id);
    return log.kind === 'TEXT' ? log.text : log.kind;
  };

  it('can be read live, until the whole log is stored', async () => {
    const agent = await join();
    const id = await create({ job: await batchJob() });
    const { ref } = agent.latest;
    expect(await text(id)).toBe('');
    await agent.say({ type: 'output', ref, offset: 0, text: 'one\n' });
    await agent.say({ type: 'output', ref, offset: 4, text: 'two\n' });
    expect(await text(id)).toBe('one\ntwo\n');
    await agent.end(ref, 'ERROR', { message: 'no' });
    expect(await text(id)).toBe('NONE');
  });

  it('is that of the active attempt, even if a superseded one continues to print', async () => {
    const agent = await join();
    const id = await create();
    const old = agent.latest.ref;
    await agent.say({ type: 'output', ref: old, offset: 0, text: 'old' });
    await agent.disconnect();
    const other = await join({ id: 'agent-2', instances: [{ id: 'sim-2' }] });
    await engine.runtime.advance(30 * 60_000);
    await other.say({ type: 'output', ref: other.latest.ref, offset: 0, text: 'new' });
    const again = await rejoin(agent, { running: [old] });
    await again.say({ type: 'output', ref: old, offset: 3, text: 'stale' });
    expect(await text(id)).toBe('new');
  });

  it('is kept of a canceled task, while its log has not come', async () => {
    const agent = await join();
    const id = await create();
    const { ref } = agent.latest;
    await engine.tasks.cancel(id, true, ANYBODY);
    await agent.say({ type: 'output', ref, offset: 0, text: 'late' });
    expect(await text(id)).toBe('late');
  });

  it('continues after a broken connection', async () => {
    const agent = await join();
    const id = await create();
    const { ref } = agent.latest;
    await agent.say({ type: 'output', ref, offset: 0, text: 'abc' });
    await agent.disconnect();
    const again = await rejoin(agent, { running: [ref] });
    await again.say({ type: 'output', ref, offset: 2, text: 'cdef' });
    expect(await text(id)).toBe('abcdef');
  });
});

describe('a checkpoint', () => {
  it('that came with the return of an attempt goes with the next assignment, and ends with the task', async () => {
    const agent = await join();
    const id = await create({ job: await batchJob() });
    const first = agent.latest;
    expect(first).not.toHaveProperty('checkpoint');
    const checkpoint = [{ path: 'fields/p', ...refOf('pressure') }];
    expect(await agent.end(first.ref, 'RETURNED', { checkpoint, message: 'stopping' }, ['pressure'])).toBe(
      true,
    );
    expect(await engine.tasks.get(id)).toMatchObject({ crashes: 0, losses: 0 });
    await engine.runtime.advance(COOLDOWN_MS);
    const second = agent.latest;
    expect(second).toMatchObject({ ref: { taskId: id, attempt: 2 }, checkpoint });
    expect(await agent.end(second.ref, 'INSTANCE_LOST')).toBe(true);
    await engine.runtime.advance(COOLDOWN_MS);
    expect(agent.latest).toMatchObject({ ref: { taskId: id, attempt: 3 }, checkpoint });
    expect(await agent.end(agent.latest.ref, 'OK')).toBe(true);
    expect(await engine.tasks.outputs(id)).toEqual([]);
    expect(await engine.store.archive.checkpointOf(id)).toEqual([]);
  });

  it('of an attempt that is canceled or over is no business of the task', async () => {
    const agent = await join();
    const id = await create({ job: await batchJob() });
    const { ref } = agent.latest;
    const checkpoint = [{ path: 'a', ...refOf('late') }];
    await agent.end(ref, 'CANCELED', { checkpoint }, ['late']);
    await engine.runtime.advance(COOLDOWN_MS);
    expect(agent.latest).toMatchObject({ ref: { taskId: id, attempt: 2 } });
    expect(agent.latest).not.toHaveProperty('checkpoint');
    expect(await agent.end(ref, 'RETURNED', { checkpoint }, ['late'])).toBe(false);
    expect(await engine.store.archive.checkpointOf(id)).toEqual([]);
  });

  it('of which a file was not sent is refused with its report', async () => {
    const agent = await join();
    const id = await create({ job: await batchJob() });
    const { ref } = agent.latest;
    const checkpoint = [{ path: 'a', ...refOf('nowhere') }];
    expect(await agent.end(ref, 'RETURNED', { checkpoint })).toBeUndefined();
    expect(await engine.tasks.get(id)).toMatchObject({ attempt: 1 });
  });
});
