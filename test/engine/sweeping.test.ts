/** The sweep: ended tasks, unreferenced blobs, agents that have not joined for long. */

import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join as joinPath } from 'node:path';
import { Readable } from 'node:stream';
import { ANYBODY } from '@workbench-hub/hub/core/access';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { describe, expect, it, vi } from 'vitest';
import {
  create,
  engine,
  engineForEachTest,
  join,
  restart,
  startAnew,
} from '../support/engine/engine-for-each-test.js';
import { LEASE_MS } from '../support/engine/running-engine.js';

/** The user while security is off. */
const NOBODY = { owner: null, changesAll: true };

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const LARGE = Buffer.alloc(100_000, 'large');

engineForEachTest();

/** Lets time pass, then sweeps once. */
async function passAndSweep(byMs: number): Promise<void> {
  engine.runtime.skip(byMs);
  await engine.sweep();
}

async function createBatchJob(script: Buffer): Promise<string> {
  const file = await engine.files.put(script);
  return create({
    job: { type: 'EXECUTE_BATCH_JOB', model: null, scripts: [file], additionalFiles: [], variables: [] },
  });
}

const isThere = async (content: Buffer) => {
  return (await engine.files.find(createHash('sha256').update(content).digest('hex'))) !== undefined;
};

describe('the key of a request', () => {
  it('names its task for a day', async () => {
    const task = { name: null, creator: null, classifiers: [], timeLimitS: null };
    const job = { type: 'SIMULATE_WORK', durationS: 1 } as const;
    const createAgain = async () => (await engine.tasks.createOnce({ ...task, job }, 'build 7')).task.id;
    const id = await createAgain();
    await passAndSweep(DAY_MS - 1);
    expect(await createAgain()).toBe(id);
    await passAndSweep(2);
    expect(await createAgain()).not.toBe(id);
  });
});

describe('an ended task', () => {
  it('is kept for tasks.keepEndedFor, then removed with its results', async () => {
    await startAnew({ keepEndedForMs: DAY_MS });
    const agent = await join();
    const script = Buffer.from('// small');
    const id = await createBatchJob(script);
    const large = await engine.files.put(LARGE);
    await agent.end(agent.latest.ref, 'OK', { outputFiles: [{ path: 'a', ...large }] });

    await passAndSweep(DAY_MS);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FINISHED' });
    expect(await engine.tasks.outputs(id)).toHaveLength(1);
    expect([await isThere(script), await isThere(LARGE)]).toEqual([true, true]);

    await passAndSweep(1);
    await expect(engine.tasks.get(id)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
    await passAndSweep(HOUR_MS + 1);
    expect([await isThere(script), await isThere(LARGE)]).toEqual([false, false]);
  });

  it('is removed in any of the three final states, and no other task is', async () => {
    await startAnew({ keepEndedForMs: DAY_MS });
    const agent = await join();
    const ids: string[] = [];
    for (const outcome of ['OK', 'ERROR'] as const) {
      ids.push(await createBatchJob(Buffer.from(outcome)));
      await agent.end(agent.latest.ref, outcome);
    }
    const running = await createBatchJob(Buffer.from('running'));
    const waiting = await createBatchJob(Buffer.from('waiting'));
    const canceled = await createBatchJob(Buffer.from('canceled'));
    await engine.tasks.cancel(canceled, false, ANYBODY);
    await passAndSweep(2 * DAY_MS);
    const { tasks } = await engine.tasks.list({ page: 0, size: 20, statuses: [] });
    expect(tasks.map(({ id }) => id)).toEqual([waiting, running]);
    expect(ids).toHaveLength(2);
  });
});

describe('blobs', () => {
  it('without references are removed after an hour, those of a waiting task stay', async () => {
    const orphan = Buffer.from('orphan');
    const largeOrphan = Buffer.alloc(50_000, 'orphan');
    await engine.files.put(orphan);
    await engine.files.put(largeOrphan);
    const named = Buffer.alloc(60_000, 'named');
    await createBatchJob(named);
    await passAndSweep(HOUR_MS);
    expect([await isThere(orphan), await isThere(named)]).toEqual([true, true]);
    // A reader has some seconds to open a blob that it found.
    await passAndSweep(5000);
    expect([await isThere(orphan), await isThere(largeOrphan), await isThere(named)]).toEqual([
      false,
      false,
      true,
    ]);
  });
});

describe('a file of the input storage', () => {
  const content = Buffer.alloc(100_000, 'the model');
  const upload = async () => {
    const upload = engine.storage.beginUpload(NOBODY);
    await upload.take({ name: 'model', overwrite: true, encrypt: false }, Readable.from([content]));
    await upload.name(NOBODY);
    await upload.end();
  };

  it('that expires while a task is created with it is available to the task', async () => {
    await upload();
    const hold = engine.files.hold();
    const script = await engine.storage.input('model', hold);
    expect(script).toBeDefined();
    await passAndSweep(8 * DAY_MS);
    expect(await engine.storage.input('model', hold)).toBeUndefined();
    const id = await create({
      job: {
        type: 'EXECUTE_BATCH_JOB',
        model: null,
        scripts: [script as FileRef],
        additionalFiles: [],
        variables: [],
      },
    });
    hold.release();
    await passAndSweep(2 * HOUR_MS);
    expect(await isThere(content)).toBe(true);
    await engine.tasks.cancel(id, false, ANYBODY);
    await engine.tasks.remove(id, ANYBODY);
    engine.runtime.skip(6000);
    await engine.files.reclaim();
    expect(await isThere(content)).toBe(false);
  });

  it('with a lost blob is refused to tasks', async () => {
    await upload();
    const hold = engine.files.hold();
    await rm(joinPath(engine.folder, 'files'), { recursive: true });
    await expect(engine.storage.input('model', hold)).rejects.toThrow(
      /of "model" in the INPUT storage is missing/,
    );
    hold.release();
  });

  it('that seems expired because the clock jumped ahead is back when the clock is set right', async () => {
    await upload();
    const { runtime } = engine;
    runtime.setClock(30 * DAY_MS);
    await engine.sweep();
    const hold = engine.files.hold();
    expect(await engine.storage.input('model', hold)).toBeUndefined();
    expect(
      engine.log.filter(({ msg }) => msg.startsWith('the clock of this machine has jumped')),
    ).toHaveLength(1);
    runtime.setClock(-30 * DAY_MS);
    await engine.sweep();
    expect(await engine.storage.input('model', hold)).toBeDefined();
    hold.release();
  });

  it('that has expired by a correct clock is removed an hour later', async () => {
    await upload();
    engine.runtime.setClock(30 * DAY_MS);
    await engine.sweep();
    engine.runtime.skip(HOUR_MS);
    await engine.sweep();
    await engine.files.reclaim();
    expect(await isThere(content)).toBe(false);
  });
});

describe('a long disconnected agent', () => {
  it('is forgotten with its instances, and not while it is connected', async () => {
    await startAnew({ forgetAgentsAfterMs: 7 * DAY_MS });
    const gone = await join({ id: 'gone', instances: [{ id: 'old' }] });
    await join({
      id: 'there',
      instances: [{ id: 'new', status: 'DOWN', upForMs: null }],
    });
    engine.runtime.skip(30 * DAY_MS);
    await gone.disconnect();
    await passAndSweep(7 * DAY_MS);
    expect(engine.instances.agents().map(({ id }) => id)).toEqual(['gone', 'there']);
    await passAndSweep(1);
    expect(engine.instances.agents().map(({ id }) => id)).toEqual(['there']);
    expect(engine.instances.find('old')).toBeUndefined();
    await restart();
    expect(engine.instances.agents().map(({ id }) => id)).toEqual(['there']);
  });

  it('is not forgotten while it has a task: after a long downtime of the hub its lease has only begun', async () => {
    await startAnew({ forgetAgentsAfterMs: 7 * DAY_MS });
    const agent = await join();
    const id = await create();
    await agent.disconnect();
    engine.runtime.skip(8 * DAY_MS);
    await restart();
    await engine.sweep();
    expect(engine.instances.agents().map((known) => known.id)).toEqual(['agent-1']);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING' });
    await engine.runtime.advance(LEASE_MS);
    await engine.sweep();
    expect(engine.instances.agents()).toEqual([]);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING' });
  });

  it('is forgotten by the time of its disconnection, not of its join', async () => {
    await startAnew({ forgetAgentsAfterMs: 7 * DAY_MS });
    const agent = await join();
    engine.runtime.skip(30 * DAY_MS);
    await agent.disconnect();
    await restart();
    await passAndSweep(DAY_MS);
    expect(engine.instances.agents()).toHaveLength(1);
  });
});

describe('a sweep', () => {
  const MINUTE_MS = 60_000;

  it('removes everything that has expired, however much', async () => {
    await startAnew({ keepEndedForMs: DAY_MS });
    const request = { name: null, creator: null, classifiers: [], timeLimitS: null };
    const job = { type: 'SIMULATE_WORK', durationS: 1 } as const;
    const tasks = await Promise.all(
      Array.from({ length: 1001 }, () => engine.tasks.create({ ...request, job })),
    );
    const ids = tasks.map(({ id }) => id);
    await engine.store.queue.cancel(ids, ['WAITING'], engine.runtime.clock.nowMs());
    await passAndSweep(DAY_MS + 1);
    expect(await engine.tasks.list({ page: 0, size: 20, statuses: [] })).toMatchObject({ tasks: [] });
  });

  it('is repeated after one that failed in the store', async () => {
    await startAnew({ keepEndedForMs: DAY_MS });
    const id = await create();
    await engine.tasks.cancel(id, false, ANYBODY);
    engine.runtime.skip(2 * DAY_MS);
    vi.spyOn(engine.store.archive, 'endedBefore').mockRejectedValueOnce(new Error('disk I/O error'));
    await engine.runtime.advance(0);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'CANCELED' });
    await engine.runtime.advance(MINUTE_MS);
    await expect(engine.tasks.get(id)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  });

  it('goes on after a step that failed, and says which', async () => {
    const task = { name: null, creator: null, classifiers: [], timeLimitS: null };
    const job = { type: 'SIMULATE_WORK', durationS: 1 } as const;
    const createAgain = async () => (await engine.tasks.createOnce({ ...task, job }, 'build 7')).task.id;
    const id = await createAgain();
    vi.spyOn(engine.files, 'sweep').mockRejectedValue(new Error('permission denied'));
    await passAndSweep(DAY_MS + 1);
    expect(await createAgain()).not.toBe(id);
    expect(engine.log).toContainEqual(
      expect.objectContaining({
        swept: 'unreferenced files',
        msg: 'a step of the sweep failed; the next sweep tries it again',
      }),
    );
  });

  it('in progress is awaited before the hub closes its store', async () => {
    let goOn!: () => void;
    vi.spyOn(engine.files, 'sweep').mockReturnValueOnce(
      new Promise((resolve) => {
        goOn = () => resolve(0);
      }),
    );
    await engine.runtime.advance(MINUTE_MS);
    let isStopped = false;
    const stopping = engine.stop().then(() => {
      isStopped = true;
    });
    await engine.runtime.settle();
    expect(isStopped).toBe(false);
    goOn();
    await stopping;
  });
});

describe('an unfinished resumable upload', () => {
  const begin = (name: string, encrypt: boolean) =>
    engine.uploads.begin(NOBODY, {
      name,
      overwrite: false,
      encrypt,
      sizeBytes: 2 * LARGE.length,
      announcedDigest: null,
      metadata: '',
    });
  const send = (id: string, fromByte: number) =>
    engine.uploads.receive(id, NOBODY, {
      fromByte,
      lengthBytes: LARGE.length,
      content: Readable.from([LARGE]),
      reauthorize: async () => NOBODY,
    });

  it('is removed with its bytes a day after its last progress, and one with progress is not', async () => {
    const old = await begin('old-file', false);
    const secret = await begin('secret', true);
    const young = await begin('young', true);
    for (const { id } of [old, secret]) await send(id, 0);
    engine.runtime.skip(DAY_MS - 1);
    await send(young.id, 0);
    await passAndSweep(0);
    expect(await engine.files.uploads.ids()).toHaveLength(3);
    await passAndSweep(1);
    expect(await engine.files.uploads.ids()).toEqual([young.id]);
    expect((await send(young.id, LARGE.length)).isStored).toBe(true);
    expect(await engine.files.uploads.ids()).toEqual([]);
  });

  it('that is finished keeps its file no longer than its name', async () => {
    const { id } = await begin('finished', false);
    await send(id, 0);
    await send(id, LARGE.length);
    const content = Buffer.concat([LARGE, LARGE]);
    expect(await isThere(content)).toBe(true);
    await engine.storage.removeInput('finished', NOBODY);
    engine.runtime.skip(6000);
    await engine.files.reclaim();
    expect(await isThere(content)).toBe(false);
  });

  it('that cannot get its name keeps its file no longer than others without one', async () => {
    const { id } = await begin('unnamed', false);
    await send(id, 0);
    const named = vi.spyOn(engine.store.uploads, 'finish').mockRejectedValue(new Error('no name now'));
    await expect(send(id, LARGE.length)).rejects.toThrow('no name now');
    named.mockRestore();
    await engine.uploads.remove(id, null);
    // The disk has a clock of its own, which is ahead: the first sweep sets the age of the file.
    await passAndSweep(0);
    await passAndSweep(HOUR_MS + 1);
    await passAndSweep(6000);
    expect(await isThere(Buffer.concat([LARGE, LARGE]))).toBe(false);
  });

  it('whose record is gone leaves no bytes', async () => {
    const { id } = await begin('lost-file', false);
    await send(id, 0);
    await engine.store.uploads.remove(id);
    await passAndSweep(0);
    expect(await engine.files.uploads.ids()).toEqual([]);
  });

  it('that was complete when the hub was killed gets its name by the next question', async () => {
    for (const encrypt of [false, true]) {
      const { id } = await begin(`file-${encrypt}`, encrypt);
      await send(id, 0);
      // All bytes are durable, and nothing else has happened.
      const upload = await engine.uploads.find(id, NOBODY);
      await engine.files.uploads.append(upload, LARGE.length, Readable.from([LARGE]), async (bytes) => {
        expect(await engine.store.uploads.advance(id, LARGE.length, bytes, Number.MAX_SAFE_INTEGER)).toBe(
          true,
        );
      });
      await restart();
      expect(await engine.storage.inputExists(`file-${encrypt}`)).toBe(false);
      const both = await Promise.allSettled([
        engine.uploads.find(id, NOBODY),
        engine.uploads.find(id, NOBODY),
      ]);
      expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
      expect(await engine.uploads.find(id, NOBODY)).toMatchObject({ isStored: true });
      expect(await engine.storage.inputExists(`file-${encrypt}`)).toBe(true);
    }
  });

  it('that was renamed into the blob store when the hub was killed gets its name, too', async () => {
    const { id } = await begin('renamed', false);
    await send(id, 0);
    const upload = await engine.uploads.find(id, NOBODY);
    await engine.files.uploads.append(upload, LARGE.length, Readable.from([LARGE]), async (bytes) => {
      await engine.store.uploads.advance(id, LARGE.length, bytes, Number.MAX_SAFE_INTEGER);
    });
    const hold = engine.files.hold();
    await engine.files.uploads.toBlob(upload, hold, (digest) => engine.store.uploads.identify(id, digest));
    await restart();
    expect(await engine.uploads.find(id, NOBODY)).toMatchObject({ isStored: true });
    expect(await engine.storage.inputExists('renamed')).toBe(true);
  });
});
