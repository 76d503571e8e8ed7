import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '@workbench-hub/shared/config/load';
import type { BatchJob } from '@workbench-hub/shared/domain/job';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { Service } from '@workbench-hub/shared/runtime/service';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAgent } from './agent.js';
import { agentConfigSchema } from './config.js';
import { FakeHub, TOKEN } from './fixtures/fake-hub.js';
import { linux } from './process/linux.js';

const SIM = 'sim-1';

let directory: string;
let hub: FakeHub;
let agent: Service | null = null;
let logLines: string[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'agent-test-'));
  hub = await FakeHub.start();
  logLines = [];
});

afterEach(async () => {
  await agent?.stop();
  agent = null;
  await hub.stop();
  expect(logLines.join('')).not.toContain(TOKEN);
  await rm(directory, { recursive: true, force: true });
});

function fixture(name: string): string[] {
  return [process.execPath, fileURLToPath(new URL(`process/fixtures/${name}.mjs`, import.meta.url))];
}

/** An agent with one instance; keys of the configuration as in the file. */
async function startAgent({
  program = 'shell-workbench',
  instance = {},
  ...keys
}: Record<string, unknown> & { program?: string; instance?: object } = {}) {
  const file = join(directory, 'agent.json');
  const config = {
    id: 'host-1',
    hub: hub.address,
    token: TOKEN,
    dataDir: join(directory, 'data'),
    instances: [{ id: SIM, version: '9.1.0', command: fixture(program), ...instance }],
    ...keys,
  };
  await writeFile(file, JSON.stringify(config));
  const loaded = loadConfig({ schema: agentConfigSchema, file, environment: {}, environmentPrefix: 'NONE' });
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  const log = pino({ level: 'debug' }, { write: (line: string) => void logLines.push(line) });
  const started = createAgent(loaded.config, {
    log,
    version: '1.0.0',
    revision: 'test',
    environment: process.env,
  });
  await started.start();
  agent = started;
}

async function startReadyAgent(options: Parameters<typeof startAgent>[0] = {}) {
  await startAgent(options);
  await hub.instanceBecomes(SIM, 'UP');
}

function newRef(instanceId = SIM): AttemptRef {
  return { taskId: systemRuntime.newId(), attempt: 1, instanceId };
}

function batchJob(script: string, more: Partial<BatchJob> = {}): BatchJob {
  return {
    type: 'EXECUTE_BATCH_JOB',
    model: null,
    scripts: [hub.store(script)],
    additionalFiles: [],
    variables: [],
    ...more,
  };
}

async function run(script: string, more: Partial<BatchJob> = {}, timeLimitMs: number | null = null) {
  const ref = newRef();
  hub.assign(ref, batchJob(script, more), timeLimitMs);
  const report = await hub.ended(ref);
  const outputs = Object.fromEntries(
    report.outputFiles.map(({ path, digest }) => [path, hub.contents.get(digest)?.toString()]),
  );
  return {
    ref,
    ...report,
    outputs,
    logText: report.log ? hub.contents.get(report.log.digest)?.toString() : null,
  };
}

describe('joining', () => {
  test('introduces itself with its instances', async () => {
    await startReadyAgent({ instance: { labels: ['gears'], revision: '4711' } });
    const hello = await hub.receives('hello');
    expect(hello).toMatchObject({ agent: { id: 'host-1', version: '1.0.0' }, running: [], spooled: [] });
    expect(hello.instances).toMatchObject([
      { id: SIM, version: '9.1.0', revision: '4711', labels: ['gears'] },
    ]);
  });

  test('keeps its node id over restarts', async () => {
    await startAgent();
    const { agent: first } = await hub.receives('hello');
    await agent?.stop();
    const seen = hub.received.length;
    await startAgent();
    const { agent: second } = await hub.receives('hello', () => true, seen);
    expect(second.nodeId).toBe(first.nodeId);
  });

  test('joins the next hub of a list when the first is not there', async () => {
    const gone = await FakeHub.start();
    await gone.stop();
    await startAgent({ hub: [`ws://127.0.0.1:1`, hub.address] });
    await hub.receives('hello');
  });

  test('joins again after the connection broke, with what it runs', async () => {
    await startReadyAgent();
    const ref = newRef();
    hub.assign(ref, { type: 'SIMULATE_WORK', durationS: 600 });
    await hub.receives('hello');
    hub.send({
      type: 'request',
      requestId: '1',
      request: { kind: 'instanceLog', instanceId: SIM, logType: 'stdout' },
    });
    await hub.receives('reply');
    const seen = hub.received.length;
    hub.disconnect();
    const again = await hub.receives('hello', () => true, seen);
    expect(again.running).toEqual([ref]);
    hub.send({ type: 'cancel', ref });
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'CANCELED' });
  });

  test('says once what to do about a wrong token, and takes the right one when the file has it', async () => {
    const tokenFile = join(directory, 'token');
    await writeFile(tokenFile, 'wrong\n');
    await startAgent({ token: undefined, tokenFile });
    await writeFile(tokenFile, `${TOKEN}\n`);
    await hub.receives('hello');
    const complaints = logLines.filter((line) => line.includes('does not accept the token'));
    expect(complaints.length).toBeLessThanOrEqual(1);
  });

  test('says what to do about a refusal, and goes on trying', async () => {
    hub.refusal = { type: 'refused', code: 'INSTANCE_ID_TAKEN', message: 'sim-1 is connected from host-2' };
    await startAgent();
    await expect
      .poll(() => logLines.join(''))
      .toContain('refused: sim-1 is connected from host-2; give the instance');
    hub.refusal = null;
    await hub.instanceBecomes(SIM, 'UP');
  });

  test('stops while no hub is there', async () => {
    await startAgent({ hub: 'ws://127.0.0.1:1' });
    await expect.poll(() => logLines.join('')).toContain('nothing listens at this address (ECONNREFUSED)');
    await agent?.stop();
    agent = null;
  });

  test('refuses a second agent on its data directory, and takes over after a dead one', async () => {
    await startAgent();
    const first = agent;
    agent = null;
    await expect(startAgent()).rejects.toThrow(/in use by another agent/);
    await first?.stop();
    await writeFile(join(directory, 'data', 'agent.lock'), '1@some-other-boot/17');
    await startAgent();
  });
});

describe('simulated work', () => {
  test('ends OK, without a trace on disk', async () => {
    await startReadyAgent();
    const ref = newRef();
    hub.assign(ref, { type: 'SIMULATE_WORK', durationS: 0 });
    expect(await hub.ended(ref)).toEqual({
      ...ref,
      outcome: 'OK',
      message: null,
      outputFiles: [],
      log: null,
    });
    expect(await readdir(join(directory, 'data', 'work'))).toEqual([]);
    expect(await readdir(join(directory, 'data', 'spool', 'files'))).toEqual([]);
  });

  test('is ended by its time limit', async () => {
    await startReadyAgent();
    const ref = newRef();
    hub.assign(ref, { type: 'SIMULATE_WORK', durationS: 600 }, 100);
    expect(await hub.ended(ref)).toMatchObject({
      outcome: 'FAILED',
      message: 'time limit of 0.1 s exceeded',
    });
  });

  test('is returned by an instance that works already, or is not there', async () => {
    await startReadyAgent();
    const busy = newRef();
    hub.assign(busy, { type: 'SIMULATE_WORK', durationS: 600 });
    const second = newRef();
    hub.assign(second, { type: 'SIMULATE_WORK', durationS: 0 });
    expect(await hub.ended(second)).toMatchObject({ outcome: 'RETURNED' });
    const nowhere = newRef('sim-9');
    hub.assign(nowhere, { type: 'SIMULATE_WORK', durationS: 0 });
    expect(await hub.ended(nowhere)).toMatchObject({ outcome: 'RETURNED' });
  });
});

describe('batch jobs', () => {
  test('get their files and variables, and give back what is new or changed', async () => {
    await startReadyAgent();
    const result = await run(
      [
        'cat data/in.txt > out.txt; echo more >> changed.txt; mkdir -p a/b; printf x > a/b/c.txt',
        'printf %s "$WIDTH" > width; cp "$WORKBENCH_VARIABLES" vars.json; cat "$WORKBENCH_MODEL" > model-copy',
        'printf %s "$WORKBENCH_TASK_ID" > id; printf %s "$LD_PRELOAD$PYTHONPATH" > steering; mkfifo pipe; ln -s /etc/passwd link',
        'echo reserved > .workbench-x; test -d "$WORKBENCH_OUTPUT_STORAGE"; echo hello; echo trouble >&2',
      ].join('\n'),
      {
        model: { kind: 'CONTENT', path: 'model.wbpz', ...hub.store('the model') },
        additionalFiles: [
          { path: 'data/in.txt', ...hub.store('input') },
          { path: 'changed.txt', ...hub.store('begin\n') },
          { path: 'same.txt', ...hub.store('same') },
        ],
        variables: [
          { key: 'WIDTH', value: '12.5' },
          { key: 'PYTHONPATH', value: '/evil' },
          { key: 'größe', value: 'x' },
        ],
      },
    );
    expect(result).toMatchObject({ outcome: 'OK', message: null });
    expect(result.outputs).toEqual({
      'a/b/c.txt': 'x',
      'changed.txt': 'begin\nmore\n',
      id: result.ref.taskId,
      'model-copy': 'the model',
      'out.txt': 'input',
      steering: '',
      'vars.json': JSON.stringify({ WIDTH: '12.5', PYTHONPATH: '/evil', größe: 'x' }),
      width: '12.5',
    });
    expect(result.outputFiles.map(({ path }) => path)).toEqual(Object.keys(result.outputs).sort());
    expect(result.logText).toContain('hello\n');
    expect(result.logText).toContain('trouble\n');
    expect(await readdir(join(directory, 'data', 'work'))).toEqual([]);
  });

  test('do not change what is cached', async () => {
    await startReadyAgent();
    const file = hub.store('original');
    const more = { additionalFiles: [{ path: 'in', ...file }] };
    expect((await run('echo changed > in', more)).outputs).toEqual({ in: 'changed\n' });
    expect((await run('cat in > out', more)).outputs).toEqual({ out: 'original' });
    expect(hub.requests.filter((request) => request === `GET ${file.digest}`)).toHaveLength(1);
  });

  test('a script that fails leaves its outputs, and the later ones are not run', async () => {
    await startReadyAgent();
    const result = await run('echo so far > out; exit 4', {
      scripts: [hub.store('echo so far > out; exit 4'), hub.store('echo never > later')],
    });
    expect(result).toMatchObject({
      outcome: 'ERROR',
      message: 'script exited with 4',
      outputs: { out: 'so far\n' },
    });
  });

  test('a content that the hub does not have fails the attempt', async () => {
    await startReadyAgent();
    const missing = { digest: 'ab'.repeat(32), sizeBytes: 4 };
    const result = await run('true', { additionalFiles: [{ path: 'x', ...missing }] });
    expect(result).toMatchObject({ outcome: 'FAILED', message: expect.stringContaining(missing.digest) });
  });

  test('a name that cannot be listed is left out, and the log says so', async () => {
    await startReadyAgent();
    const result = await run(`printf x > "$(printf 'bad\\377')"; printf x > 'back\\slash'; printf x > good`);
    expect(result.outputs).toEqual({ good: 'x' });
    expect(result.logText).toContain('not valid UTF-8');
    expect(result.logText).toContain('is no output file: its name must use');
  });

  test('what they put into WORKBENCH_OUTPUT_STORAGE is sent for the output storage', async () => {
    await startReadyAgent();
    const { storedFiles, outputs } = await run(
      'printf movie > "$WORKBENCH_OUTPUT_STORAGE/movie.bin"; printf x > out.txt; exit 3',
    );
    expect(outputs).toEqual({ 'out.txt': 'x' });
    expect(storedFiles?.map(({ path, digest }) => [path, hub.contents.get(digest)?.toString()])).toEqual([
      ['movie.bin', 'movie'],
    ]);
  });

  test.each([false, undefined])('and is left out, as the log says, when the hub says %s', async (said) => {
    hub.outputStorage = said;
    await startReadyAgent();
    const { storedFiles, outcome, logText } = await run('printf x > "$WORKBENCH_OUTPUT_STORAGE/movie.bin"');
    expect([outcome, storedFiles]).toEqual(['OK', undefined]);
    expect(logText).toBe(
      '[agent] "movie.bin" in WORKBENCH_OUTPUT_STORAGE is not stored: the hub has no output storage, or it is switched off ("storage.output.enabled" of the hub)\n',
    );
  });

  test('a daemon ends with its task, and the instance goes on', async () => {
    await startReadyAgent();
    const seen = hub.received.length;
    const script = 'setsid sleep 7777 > /dev/null 2>&1 & echo $! > pid';
    for (const each of [script, `${script}; exit 1`]) {
      const { outputs } = await run(each);
      expect(outputs['pid']).toMatch(/^\d+\n$/);
      // Killed before the outputs were collected; the system may take a moment to clear it away.
      await expect.poll(() => linux.identify(Number(outputs['pid']))).toBeUndefined();
    }
    expect(hub.received.slice(seen).filter(({ type }) => type === 'instance')).toEqual([]);
  });

  test('a cancel ends the run', async () => {
    await startReadyAgent();
    const ref = newRef();
    hub.assign(ref, batchJob('echo begun; sleep 600'));
    await hub.receives('output', ({ text }) => text.includes('begun'));
    hub.send({ type: 'cancel', ref });
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'CANCELED', outputFiles: [] });
    expect((await run('echo again > out')).outputs).toEqual({ out: 'again\n' });
  });

  test('a program that is deaf to cancel is killed and started again', async () => {
    await startReadyAgent({ program: 'ignores-cancel', instance: { cancelTimeout: '50ms' } });
    const ref = newRef();
    hub.assign(ref, batchJob('true'));
    await hub.receives('output');
    const seen = hub.received.length;
    hub.send({ type: 'cancel', ref });
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'CANCELED' });
    await hub.instanceBecomes(SIM, 'UP', seen);
  });

  test('a program that dies under a job loses the instance, which is started again', async () => {
    await startReadyAgent({ program: 'dies-at-work' });
    const seen = hub.received.length;
    const result = await run('true');
    expect(result.outcome).toBe('INSTANCE_LOST');
    expect(result.message).toContain('SIGKILL');
    expect(result.message).toContain('segmentation fault in solver');
    await hub.instanceBecomes(SIM, 'UP', seen);
  });

  test('what a script prints without end is bounded, begins and ends as it did', async () => {
    await startReadyAgent({ limits: { taskLog: '100KiB' } });
    const result = await run('echo first; yes "a line of text" | head -n 200000; echo last');
    expect(result.outcome).toBe('OK');
    expect(result.logText?.startsWith('first\n')).toBe(true);
    expect(result.logText?.endsWith('last\n')).toBe(true);
    expect(result.logText).toMatch(/\[agent\] \d+ bytes are left out here: limits.taskLog/);
    expect(result.log?.sizeBytes).toBeLessThan(200 * 1024);
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
      message: expect.stringMatching(/the spooled content [0-9a-f]{64} has the digest [0-9a-f]{64} now$/),
      outputFiles: [],
    });
  });

  test('a result of which the hub has the beginning is gone on with', async () => {
    await startReadyAgent();
    const text = 'a result of some length\n';
    const { digest } = hub.store(text);
    hub.contents.delete(digest);
    hub.partials.set(digest, Buffer.from(text.slice(0, 10)));
    expect((await run(`printf '${text.replace('\n', '\\n')}' > out`)).outputs).toEqual({ out: text });
    expect(logLines.find((line) => line.includes('sent a content') && line.includes(digest))).toContain(
      '"fromByte":10',
    );
  });

  test('a content is fetched once, however many jobs begin with it on however many instances', async () => {
    await startAgent({ instance: { count: 4 } });
    const instances = [1, 2, 3, 4].map((at) => `${SIM}-${at}`);
    for (const instance of instances) await hub.instanceBecomes(instance, 'UP');
    const model = {
      kind: 'CONTENT' as const,
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

  test('more output than the limits allow fails the job, and nothing of it is kept', async () => {
    await startReadyAgent({ limits: { taskOutputs: '2KiB' } });
    const { outputs, ...report } = await run(
      'head -c 2000 /dev/zero > a; head -c 2000 /dev/zero > b; echo said',
    );
    expect(report).toMatchObject({
      outcome: 'FAILED',
      message:
        'the job left 2 output files with 3.91 KiB (4000 bytes) in all, and this agent takes at most 2 KiB of a task (setting "limits.taskOutputs")',
      logText: 'said\n',
    });
    expect(outputs).toEqual({});
  });

  test('are kept to be looked into when that is asked for', async () => {
    await startReadyAgent({ keepWorkingDirectories: 'failed' });
    await run('echo good > out');
    const { ref } = await run('echo bad > out; exit 1');
    expect(await readdir(join(directory, 'data', 'work'))).toEqual([`${ref.taskId}-1`]);
    expect(await readFile(join(directory, 'data/work', `${ref.taskId}-1`, 'files/out'), 'utf8')).toBe(
      'bad\n',
    );
  });

  // Nothing can be made there, not even by root: as on a disk that is full, or was mounted read-only.
  test.each(['cache', 'work', 'spool/files'])(
    'go back untouched when the host cannot keep its own %s, and the host rests',
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
        message.type === 'instance' ? [message.instance.status] : message.type === 'ended' ? ['ended'] : [],
      );
      expect(told.slice(-2)).toEqual(['STARTING', 'ended']);
      const tooEarly = newRef();
      hub.assign(tooEarly, batchJob('true'));
      expect(await hub.ended(tooEarly)).toMatchObject({ message: 'the instance is not ready for a task' });
      const seen = hub.received.length;
      await rm(path);
      await hub.instanceBecomes(SIM, 'UP', seen);
      expect((await run('echo result > out')).outputs).toEqual({ out: 'result\n' });
      const errors = logLines.filter((line) => line.includes('"level":50'));
      expect(errors.join('')).toContain('a task was given back: the host is at fault');
      expect(errors.join('')).toContain('no task is taken for');
    },
  );

  test('find own folders again that somebody took away', async () => {
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
      .toContain('settled');
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
    await agent?.stop();
    hub = await FakeHub.start(port);
    hub.settles = false;
    await startAgent();
    const hello = await hub.receives('hello');
    expect(hello).toMatchObject({ running: [], spooled: [ref] });
    const report = await hub.ended(ref);
    expect(report.outcome).toBe('OK');
    expect(hub.contents.get(report.outputFiles[0]?.digest ?? '')?.toString()).toBe('done\n');
    const seen = hub.received.length;
    hub.disconnect();
    await hub.receives('ended', () => true, seen);
    hub.settle(ref);
    await expect.poll(() => readdir(join(directory, 'data/spool/files'))).toEqual([]);
  });
});

describe('models on the host', () => {
  const model = (pathToFile: string, copyToWorkingDirectory = false) => ({
    model: { kind: 'LOCAL_FILESYSTEM' as const, pathToFile, copyToWorkingDirectory },
  });

  test('are read in place or copied under their own name', async () => {
    await writeFile(join(directory, 'gear.wbpz'), 'gears');
    await startReadyAgent({ fileRoots: [directory], uncMounts: { '\\\\server\\share': directory } });
    const script = 'printf %s "$WORKBENCH_MODEL" > where; cat "$WORKBENCH_MODEL" > what';
    const inPlace = await run(script, model(join(directory, 'gear.wbpz')));
    expect(inPlace.outputs).toEqual({ where: expect.stringMatching(/gear\.wbpz$/), what: 'gears' });
    const copied = await run(`${script}; test -f gear.wbpz`, model('\\\\SERVER\\share\\gear.wbpz', true));
    expect(copied.outcome).toBe('OK');
    expect(copied.outputs['where']).toMatch(/\/files\/gear\.wbpz$/);
  });

  test('outside fileRoots fail, also behind a link', async () => {
    await writeFile(join(directory, 'secret'), 'secret');
    await symlink(join(directory, 'secret'), join(directory, 'data-link'));
    const root = await mkdtemp(join(directory, 'root-'));
    await symlink(join(directory, 'secret'), join(root, 'link'));
    await startReadyAgent({ fileRoots: [root] });
    for (const path of [
      join(directory, 'secret'),
      join(root, 'link'),
      join(root, 'missing'),
      '\\\\server\\x\\y',
    ]) {
      const result = await run('true', model(path));
      expect(result.outcome).toBe('FAILED');
      expect(result.message).toContain('fileRoots');
    }
  });
});

describe('instances', () => {
  const logOf = async (logType: 'stdout' | 'stderr' | 'console') => {
    const requestId = systemRuntime.newId();
    hub.send({ type: 'request', requestId, request: { kind: 'instanceLog', instanceId: SIM, logType } });
    return (await hub.receives('reply', (reply) => reply.requestId === requestId)).text ?? '';
  };
  const command = async (name: 'start' | 'stop' | 'restart', instanceId = SIM) => {
    const requestId = systemRuntime.newId();
    hub.send({ type: 'request', requestId, request: { kind: 'instanceCommand', instanceId, command: name } });
    return (await hub.receives('reply', (reply) => reply.requestId === requestId)).error;
  };

  test.each([
    [
      'exits-at-once',
      '20s',
      /exited with code 3 before it was ready; its last lines on standard error: no licence found/,
    ],
    [
      'prints-rubbish',
      '20s',
      /broke the instance protocol on its standard output: .*"Welcome to the workbench!"/,
    ],
    ['never-answers', '100ms', /was killed: it did not answer "initialize" within 0.1 s/],
  ])('a program that %s says so in the logs and is tried again', async (program, startTimeout, reason) => {
    await startAgent({ program, instance: { startTimeout } });
    await hub.receives('hello');
    await expect.poll(() => logOf('console'), { timeout: 10_000 }).toMatch(reason);
    await expect.poll(() => logOf('console'), { timeout: 10_000 }).toMatch(/next start in/);
    expect(logLines.map((line) => (JSON.parse(line) as { msg: string }).msg).join('\n')).toMatch(reason);
  });

  test('a program that does not exist is named, and its tries end by command', async () => {
    // For the system a folder of that name on the PATH is a program that may not be run (EACCES), as is anything in a
    // folder that may not be read.
    await mkdir(join(directory, 'no-such-workbench'));
    const env = { PATH: `${directory}:${process.env['PATH']}` };
    await startAgent({ instance: { command: ['no-such-workbench', '-x'], env } });
    await hub.receives('hello');
    await expect.poll(() => logOf('console')).toMatch(/there is no program "no-such-workbench"/);
    const seen = hub.received.length;
    expect(await command('stop')).toBeNull();
    await hub.instanceBecomes(SIM, 'DOWN', seen);
  });

  test('obey commands; a working one first ends its task', async () => {
    await startReadyAgent();
    const flag = join(directory, 'flag');
    const ref = newRef();
    hub.assign(ref, batchJob(`echo begun; while ! test -e ${flag}; do sleep 0.02; done`));
    await hub.receives('output');
    const seen = hub.received.length;
    expect(await command('stop')).toBeNull();
    await hub.instanceBecomes(SIM, 'STOPPING', seen);
    await writeFile(flag, '');
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'OK' });
    await hub.instanceBecomes(SIM, 'DOWN', seen);
    expect(await command('start')).toBeNull();
    await hub.instanceBecomes(SIM, 'UP', seen);
    expect(await command('restart', 'sim-9')).toMatch(/no instance sim-9/);
  });

  test('what is printed is kept by stream', async () => {
    await startReadyAgent();
    await run('echo to stdout; echo to stderr >&2');
    expect(await logOf('stdout')).toBe('to stdout\n');
    expect(await logOf('stderr')).toBe('to stderr\n');
    expect(await logOf('console')).toMatch(/up: shell-workbench 1\.0\.0[\s\S]*to stdout\n/);
  });

  test('one that ignores every request is ended by force', async () => {
    await startReadyAgent({ program: 'ignores-shutdown', instance: { stopTimeout: '50ms' } });
    const nodeId = (await readFile(join(directory, 'data', 'node-id'), 'utf8')).trim();
    expect((await linux.findByCookie(`${nodeId}/`)).pids).toHaveLength(1);
    await command('stop');
    await hub.instanceBecomes(SIM, 'DOWN');
    expect((await linux.findByCookie(`${nodeId}/`)).pids).toEqual([]);
  });

  test('leave no process behind, not even one that left its group', async () => {
    await startReadyAgent({ program: 'leaves-a-stray' });
    const nodeId = (await readFile(join(directory, 'data', 'node-id'), 'utf8')).trim();
    expect((await linux.findByCookie(`${nodeId}/${SIM}`)).pids).toHaveLength(2);
    await agent?.stop();
    agent = null;
    expect((await linux.findByCookie(`${nodeId}/`)).pids).toEqual([]);
  });
});

describe('stopping', () => {
  test('gives a running task back at once and leaves nothing behind', async () => {
    await startReadyAgent();
    const ref = newRef();
    hub.assign(ref, batchJob('echo begun; sleep 600'));
    await hub.receives('output');
    await agent?.stop();
    agent = null;
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'RETURNED', message: 'the agent is stopping' });
    expect(await readdir(join(directory, 'data', 'work'))).toEqual([]);
    expect(await readFile(join(directory, 'data/spool/journal.jsonl'), 'utf8')).toBe('');
    expect(await readdir(join(directory, 'data'))).not.toContain('agent.lock');
  });

  test('lets a running task end, begins nothing more, and waits until its result is with the hub', async () => {
    hub.settles = false;
    await startReadyAgent({ drainTimeout: '60s' });
    const ref = newRef();
    const go = join(directory, 'go');
    hub.assign(ref, batchJob(`echo begun; until [ -e ${go} ]; do sleep 0.02; done; echo done > out.txt`));
    await hub.receives('output');
    const stopped = agent?.stop();
    agent = null;
    await hub.instanceBecomes(SIM, 'STOPPING');
    const late = newRef();
    hub.assign(late, batchJob('echo late'));
    expect(await hub.ended(late)).toMatchObject({ outcome: 'RETURNED' });
    hub.settle(late);
    await writeFile(go, '');
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'OK', outputFiles: [{ path: 'out.txt' }] });
    expect(hub.isJoined).toBe(true);
    hub.settle(ref);
    await stopped;
    expect(await readFile(join(directory, 'data/spool/journal.jsonl'), 'utf8')).toBe('');
  });

  test('gives back what still runs when drainTimeout is over', async () => {
    await startReadyAgent({ drainTimeout: '100ms' });
    const ref = newRef();
    hub.assign(ref, batchJob('echo begun; sleep 600'));
    await hub.receives('output');
    await agent?.stop();
    agent = null;
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'RETURNED', message: 'the agent is stopping' });
    expect(logLines.join('')).toContain('what still runs is given back: drainTimeout is over');
  });

  test('does not wait for a hub that is away: results stay in the spool', async () => {
    await startReadyAgent({ drainTimeout: '60s' });
    const ref = newRef();
    const go = join(directory, 'go');
    hub.assign(ref, batchJob(`echo begun; until [ -e ${go} ]; do sleep 0.02; done`));
    await hub.receives('output');
    const stopped = agent?.stop();
    agent = null;
    await hub.instanceBecomes(SIM, 'STOPPING');
    await hub.stop();
    await writeFile(go, '');
    await stopped;
    expect(await readFile(join(directory, 'data/spool/journal.jsonl'), 'utf8')).toContain(ref.taskId);
    hub = await FakeHub.start();
  });
});
