/** Blobs on their way from the hub to a job and back, also when hub, network or disk fail. */
import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  agentForEachTest,
  batchJob,
  directory,
  hub,
  logLines,
  newRef,
  run,
  SIM,
  startAgent,
  startHubAnew,
  startReadyAgent,
  stopAgent,
} from './fixtures/agent-for-each-test.js';

agentForEachTest();

describe('between hub and agent', () => {
  test('a blob that the hub does not have fails the attempt', async () => {
    await startReadyAgent();
    const missing = { digest: 'ab'.repeat(32), sizeBytes: 4 };
    const result = await run('true', { additionalFiles: [{ path: 'x', ...missing }] });
    expect(result).toMatchObject({ outcome: 'FAILED', message: expect.stringContaining(missing.digest) });
  });

  test('a result that the hub does not take at first is uploaded again', async () => {
    await startReadyAgent();
    const ref = newRef();
    hub.assign(ref, batchJob('echo begun; printf result > out; sleep 0.2'));
    await hub.receives('output');
    hub.brokenStatus = 503;
    await expect
      .poll(() => hub.requests.filter((request) => request.startsWith('HEAD')).length)
      .toBeGreaterThan(1);
    hub.brokenStatus = null;
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'OK', outputFiles: [{ path: 'out' }] });
    expect(logLines.filter((line) => line.includes('uploading a result failed'))).toHaveLength(1);
  });

  test('a result that is damaged in the spool counts as lost', async () => {
    await startReadyAgent();
    const ref = newRef();
    hub.assign(ref, batchJob('echo begun; printf result > out; sleep 0.2'));
    await hub.receives('output');
    hub.brokenStatus = 503;
    const spool = join(directory, 'data', 'spool');
    await expect.poll(() => readFile(join(spool, 'journal.jsonl'), 'utf8')).toContain(ref.taskId);
    await rm(join(spool, 'files', `${ref.taskId}-1`), { recursive: true });
    hub.brokenStatus = null;
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'INSTANCE_LOST', outputFiles: [] });
  });

  test('a result that was changed in the spool counts as lost, as soon as the hub refuses it', async () => {
    await startReadyAgent();
    hub.brokenUploads = true;
    const ref = newRef();
    hub.assign(ref, batchJob('echo result > out'));
    const folder = join(directory, 'data', 'spool', 'files', `${ref.taskId}-1`);
    await expect.poll(() => logLines.join('')).toContain('uploading a result failed; trying again');
    for (const name of await readdir(folder)) await writeFile(join(folder, name), 'RESULT\n');
    hub.brokenUploads = false;
    expect(await hub.ended(ref)).toMatchObject({
      outcome: 'INSTANCE_LOST',
      message: expect.stringMatching(/the spooled blob [0-9a-f]{64} has the digest [0-9a-f]{64} now$/),
      outputFiles: [],
    });
  });

  test('a result whose beginning the hub has is resumed', async () => {
    await startReadyAgent();
    const text = 'a result of some length\n';
    const { digest } = hub.store(text);
    hub.contents.delete(digest);
    hub.partials.set(digest, Buffer.from(text.slice(0, 10)));
    expect((await run(`printf '${text.replace('\n', '\\n')}' > out`)).outputs).toEqual({ out: text });
    expect(logLines.find((line) => line.includes('uploaded a blob') && line.includes(digest))).toContain(
      '"fromByte":10',
    );
  });

  test('a blob is fetched once, however many jobs begin with it on however many instances', async () => {
    await startAgent({ instance: { count: 4 } });
    const instances = [1, 2, 3, 4].map((at) => `${SIM}-${at}`);
    for (const instance of instances) await hub.instanceBecomes(instance, 'UP');
    const model = {
      kind: 'BLOB' as const,
      path: 'model.bin',
      ...hub.store(Buffer.alloc(3_000_000, 'model')),
    };
    const job = batchJob('wc -c < model.bin > size', { model });
    for (let round = 0; round < 5; round++) {
      const refs = instances.map((instance) => newRef(instance));
      for (const ref of refs) hub.assign(ref, job);
      for (const ref of refs) expect(await hub.ended(ref)).toMatchObject({ outcome: 'OK' });
    }
    expect(hub.movedBytes.get(model.digest)).toBe(model.sizeBytes);
  });

  test('small results go with their report, others before it', async () => {
    hub.inlineBlobBytes = 8;
    await startReadyAgent();
    const small = await run('printf abc > out; printf log');
    const large = await run('printf abcdefghi > out');
    const contents = [...small.outputFiles, small.log, ...large.outputFiles].map((file) =>
      hub.contents.get(file?.digest ?? '')?.toString(),
    );
    expect(contents).toEqual(['abc', 'log', 'abcdefghi']);
    const uploads = hub.requests.filter((request) => request.startsWith('PUT'));
    expect(uploads).toEqual([`PUT ${large.outputFiles[0]?.digest}`]);
  });

  test('a small result that the first hub did not acknowledge is uploaded to the next', async () => {
    hub.inlineBlobBytes = 1000;
    hub.acknowledges = false;
    await startReadyAgent();
    const { outputFiles } = await run('printf abc > out');
    const { port } = hub;
    await hub.stop();
    await startHubAnew(port);
    hub.inlineBlobBytes = 1000;
    await hub.receives('report');
    expect(hub.requests).toContain(`PUT ${outputFiles[0]?.digest}`);
    expect(hub.contents.get(outputFiles[0]?.digest ?? '')?.toString()).toBe('abc');
  });

  test('results wait in the spool while the hub is away, over a restart of the agent', async () => {
    await startReadyAgent();
    const { port } = hub;
    const ref = newRef();
    const flag = join(directory, 'flag');
    hub.assign(ref, batchJob(`echo begun; while ! test -e ${flag}; do sleep 0.02; done; echo done > out`));
    await hub.receives('output');
    await hub.stop();
    await writeFile(flag, '');
    await expect
      .poll(() => readFile(join(directory, 'data/spool/journal.jsonl'), 'utf8'))
      .toContain(ref.taskId);
    await stopAgent();
    await startHubAnew(port);
    hub.acknowledges = false;
    await startAgent();
    const hello = await hub.receives('hello');
    expect(hello).toMatchObject({ running: [], spooled: [ref] });
    const report = await hub.ended(ref);
    expect(report.outcome).toBe('OK');
    expect(hub.contents.get(report.outputFiles[0]?.digest ?? '')?.toString()).toBe('done\n');
    const seen = hub.received.length;
    hub.disconnect();
    await hub.receives('report', () => true, seen);
    hub.acknowledge(ref);
    await expect.poll(() => readdir(join(directory, 'data/spool/files'))).toEqual([]);
  });
});

describe('batch jobs', () => {
  test('do not change what is cached', async () => {
    await startReadyAgent();
    const file = hub.store('original');
    const more = { additionalFiles: [{ path: 'in', ...file }] };
    expect((await run('echo changed > in', more)).outputs).toEqual({ in: 'changed\n' });
    expect((await run('cat in > out', more)).outputs).toEqual({ out: 'original' });
    expect(hub.requests.filter((request) => request === `GET ${file.digest}`)).toHaveLength(1);
  });

  // Nothing can be created there, not even by root, as on a disk that is full or mounted read-only.
  test.each(['cache', 'work', 'spool/files'])(
    'are returned when the host cannot keep its own %s, and a cooldown begins',
    async (folder) => {
      await startReadyAgent();
      const path = join(directory, 'data', folder);
      await rm(path, { recursive: true });
      await symlink('/sys', path);
      const ref = newRef();
      hub.assign(ref, batchJob('echo result > out'));
      expect(await hub.ended(ref)).toMatchObject({
        outcome: 'RETURNED',
        message: expect.stringContaining("on the agent's host: E"),
        hostFault: true,
        outputFiles: [],
      });
      const told = hub.received.flatMap((message) =>
        message.type === 'instance' ? [message.instance.status] : message.type === 'report' ? ['report'] : [],
      );
      expect(told.slice(-2)).toEqual(['STARTING', 'report']);
      const tooEarly = newRef();
      hub.assign(tooEarly, batchJob('true'));
      expect(await hub.ended(tooEarly)).toMatchObject({ message: 'the instance is not ready for a task' });
      const seen = hub.received.length;
      await rm(path);
      await hub.instanceBecomes(SIM, 'UP', seen);
      expect((await run('echo result > out')).outputs).toEqual({ out: 'result\n' });
      const errors = logLines.filter((line) => line.includes('"level":50'));
      expect(errors.join('')).toContain('returned a task because of a host fault');
      expect(errors.join('')).toContain('no task is accepted for');
    },
  );

  test('get new folders in place of removed ones', async () => {
    await startReadyAgent();
    const more = { additionalFiles: [{ path: 'in', ...hub.store('input') }] };
    const result = { outcome: 'OK', outputs: { out: 'input' }, logText: 'x\n' };
    expect(await run('cat in > out; echo x', more)).toMatchObject(result);
    for (const folder of ['cache', 'work', 'spool']) {
      await rm(join(directory, 'data', folder), { recursive: true });
    }
    expect(await run('cat in > out; echo x', more)).toMatchObject(result);
    await expect
      .poll(() => readFile(join(directory, 'data/spool/journal.jsonl'), 'utf8'))
      .toContain('acknowledged');
  });
});
