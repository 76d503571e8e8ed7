/** Both ends of the protocol over streams in memory, as an agent and an instance program would hold them. */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { lineSplitter } from './framing.js';
import { instanceHost } from './host.js';
import {
  type ExecuteBatchJobParams,
  MAX_LINE_BYTES,
  type OutputParams,
  RPC_ERROR,
  RpcError,
  type SimulateWorkParams,
} from './messages.js';
import { type InstanceProgram, type JobContext, serveProgram } from './program.js';

const initialize = {
  protocolVersion: 1 as const,
  instance: { id: 'sim-1', version: '9.1.0', revision: '4711', labels: ['gears'] },
};
const job: ExecuteBatchJobParams = {
  taskId: 'task-1',
  workingDirectory: '/nowhere',
  scripts: ['/nowhere/1'],
  model: null,
  variables: {},
  environment: {},
};
const open: { end(): Promise<void> }[] = [];
afterEach(async () => {
  for (const conversation of open.splice(0)) await conversation.end();
});

type Job = (params: ExecuteBatchJobParams, context: JobContext) => Promise<{ status: 'OK' | 'ERROR' }>;

function converse(executeBatchJob: Job, more: Partial<InstanceProgram> = {}) {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stop = new AbortController();
  const outputs: OutputParams[] = [];
  const violations: Error[] = [];
  const program: InstanceProgram = { name: 'test-program', version: '1.2.3', executeBatchJob, ...more };
  const served = serveProgram(program, { stdin, stdout, stop: stop.signal });
  const host = instanceHost(
    (line) => void stdin.write(`${line}\n`),
    (output) => outputs.push(output),
  );
  const splitter = lineSplitter(MAX_LINE_BYTES);
  stdout.on('data', (chunk: Buffer) => {
    for (const line of splitter.push(chunk)) {
      try {
        host.receive(line);
      } catch (error) {
        violations.push(error as Error);
      }
    }
  });
  const conversation = {
    host,
    stdin,
    stdout,
    stop,
    served,
    outputs,
    violations,
    async end() {
      stdin.end();
      await served;
    },
  };
  open.push(conversation);
  return conversation;
}

/** A job that runs until it is aborted, and a promise of its start. */
function endlessJob() {
  let begun!: () => void;
  const started = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const run: Job = async (_, { signal }) => {
    begun();
    await once(signal, 'abort');
    return { status: 'OK' };
  };
  return { run, started };
}

const ok: Job = () => Promise.resolve({ status: 'OK' });

describe('an instance program and its host', () => {
  it('run jobs one after the other, and shut down', async () => {
    const order: string[] = [];
    const { host, outputs, served } = converse(
      async ({ taskId }, { output }) => {
        await output('stdout', `this is ${taskId}\n`);
        order.push(taskId);
        return { status: 'OK' };
      },
      {
        initialize: async ({ instance }) => void order.push(`initialize ${instance.id}`),
        shutdown: async () => void order.push('shutdown'),
      },
    );
    expect(await host.initialize(initialize)).toEqual({
      protocolVersion: 1,
      name: 'test-program',
      version: '1.2.3',
    });
    expect(await host.executeBatchJob(job)).toEqual({ status: 'OK' });
    await host.simulateWork({ taskId: 'task-2', durationMs: 0 });
    expect(await host.executeBatchJob({ ...job, taskId: 'task-3' })).toEqual({ status: 'OK' });
    await host.shutdown();
    await served;
    expect(order).toEqual(['initialize sim-1', 'task-1', 'task-3', 'shutdown']);
    expect(outputs).toEqual([
      { taskId: 'task-1', stream: 'stdout', text: 'this is task-1\n' },
      { taskId: 'task-3', stream: 'stdout', text: 'this is task-3\n' },
    ]);
  });

  it('say which kind of jobs the program runs: each name once, in order', async () => {
    const runs = { models: ['xml', 'MJCF', 'XML'], scripts: ['JavaScript'] };
    const { runs: said } = await converse(ok, { runs }).host.initialize(initialize);
    expect(said).toEqual({ models: ['MJCF', 'XML'], scripts: ['JavaScript'] });
    expect(await converse(ok).host.initialize(initialize)).not.toHaveProperty('runs');
    const wrong = converse(ok, { runs: { models: ['.inp'] } }).host.initialize(initialize);
    await expect(wrong).rejects.toThrow('the answer to "initialize" is wrong: runs.models.0');
  });

  it('refuse a job before initialize, and a second initialize', async () => {
    const { host } = converse(ok);
    await expect(host.executeBatchJob(job)).rejects.toMatchObject({
      code: RPC_ERROR.INVALID_REQUEST,
      message: 'not initialized',
    });
    await host.initialize(initialize);
    await expect(host.initialize(initialize)).rejects.toMatchObject({ code: RPC_ERROR.INVALID_REQUEST });
  });

  it('say why a program could not start, and let it be tried again', async () => {
    let licenses = 0;
    const { host } = converse(ok, {
      initialize: () => (licenses++ > 0 ? Promise.resolve() : Promise.reject(new Error('no license'))),
    });
    await expect(host.initialize(initialize)).rejects.toThrow('no license');
    await expect(host.initialize(initialize)).resolves.toMatchObject({ name: 'test-program' });
  });

  it('refuse a second job while one runs', async () => {
    const endless = endlessJob();
    const { host } = converse(endless.run);
    await host.initialize(initialize);
    const first = host.executeBatchJob(job);
    await endless.started;
    await expect(host.simulateWork({ taskId: 'task-2', durationMs: 0 })).rejects.toMatchObject({
      code: RPC_ERROR.INVALID_REQUEST,
      message: 'busy with task task-1',
    });
    await host.cancel('task-1');
    await expect(first).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
  });

  it('cancel only the task that is named, and take a job after it', async () => {
    const endless = endlessJob();
    const { host } = converse((params, context) =>
      params.taskId === 'task-1' ? endless.run(params, context) : ok(params, context),
    );
    await host.initialize(initialize);
    const first = host.executeBatchJob(job);
    await endless.started;
    await host.cancel('another');
    await host.cancel('task-1');
    await expect(first).rejects.toMatchObject({ code: RPC_ERROR.CANCELED, message: 'canceled' });
    expect(await host.executeBatchJob({ ...job, taskId: 'task-2' })).toEqual({ status: 'OK' });
  });

  it('cancel simulated work', async () => {
    const { host } = converse(ok);
    await host.initialize(initialize);
    const work = host.simulateWork({ taskId: 'task-1', durationMs: 30 * 24 * 3600 * 1000 });
    await host.cancel('task-1');
    await expect(work).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
  });

  it('say which parameter is wrong', async () => {
    const { host } = converse(ok);
    await host.initialize(initialize);
    await expect(host.executeBatchJob({ ...job, scripts: [] })).rejects.toMatchObject({
      code: RPC_ERROR.INVALID_PARAMS,
      message: expect.stringMatching(/^scripts: /),
    });
    const wrong: [unknown, RegExp][] = [
      [{ taskId: 'task-1', durationMs: 'soon' }, /^durationMs: /],
      [{ taskId: 'task-1', durationMs: 0.5 }, /^durationMs: /],
      [{ taskId: 'task-1', durationMs: -1 }, /^durationMs: /],
      [{ taskId: 1, durationMs: 0 }, /^taskId: /],
      [{ taskId: 'task-1', requestId: 'x'.repeat(201), durationMs: 0 }, /^requestId: /],
      [undefined, /^params: /],
    ];
    for (const [params, message] of wrong) {
      await expect(host.simulateWork(params as SimulateWorkParams)).rejects.toMatchObject({
        code: RPC_ERROR.INVALID_PARAMS,
        message: expect.stringMatching(message),
      });
    }
  });

  it('take an answer of the wrong shape as a violation', async () => {
    const { host } = converse(() => Promise.resolve({ status: 'PERHAPS' as 'OK' }));
    await host.initialize(initialize);
    await expect(host.executeBatchJob(job)).rejects.toMatchObject({
      name: 'ProtocolViolation',
      message: expect.stringMatching(/^the answer to "executeBatchJob" is wrong: status /),
    });
  });

  it('refuse an unknown method, and continue', async () => {
    const { host, stdin, stdout } = converse(ok);
    const answer = once(stdout, 'data');
    stdin.write('{"jsonrpc":"2.0","id":"mine","method":"constructor"}\n');
    expect(JSON.parse(String((await answer)[0]))).toMatchObject({
      id: 'mine',
      error: { code: RPC_ERROR.METHOD_NOT_FOUND },
    });
    await expect(host.initialize(initialize)).resolves.toBeDefined();
  });

  it('may not call the agent, and may not fill its memory with what is wrong', () => {
    const host = instanceHost(
      () => expect.fail('the agent answers no call'),
      () => undefined,
    );
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'm'.repeat(1_000_000), params: {} });
    expect(() => host.receive(call)).toThrow(/^a call of "mmm.{900,}…$/);
  });

  it('has the beginning of a long message, as of an error', async () => {
    const { host } = converse(() =>
      Promise.reject(new RpcError(RPC_ERROR.JOB_FAILED, 'e'.repeat(1_000_000))),
    );
    await host.initialize(initialize);
    await expect(host.executeBatchJob(job)).rejects.toMatchObject({
      code: RPC_ERROR.JOB_FAILED,
      message: expect.stringMatching(/^e{9999}…$/),
    });
  });

  it('report rubbish, and continue', async () => {
    const { host, stdin, violations } = converse(ok);
    stdin.write('rubbish\n');
    await host.initialize(initialize);
    expect(violations.map(String)).toEqual([
      expect.stringContaining('only protocol messages may be on this stream, found "rubbish"'),
    ]);
  });

  it('end after a line that never ends', async () => {
    const { served, stdin, violations } = converse(ok);
    stdin.write(Buffer.alloc(MAX_LINE_BYTES + 1, 'x'));
    await served;
    expect(violations.map(String)).toEqual([expect.stringContaining('longer than')]);
  });

  it.each([
    ['the end of standard input', (c: ReturnType<typeof converse>) => c.stdin.end()],
    ['a broken standard output', (c: ReturnType<typeof converse>) => c.stdout.destroy(new Error('EPIPE'))],
    ['being told to stop', (c: ReturnType<typeof converse>) => c.stop.abort()],
  ])('end the running job, then the program, at %s', async (_, happen) => {
    const endless = endlessJob();
    const order: string[] = [];
    const conversation = converse(
      async (params, context) => {
        const result = await endless.run(params, context);
        order.push('job');
        return result;
      },
      { shutdown: async () => void order.push('program') },
    );
    const { host, served } = conversation;
    await host.initialize(initialize);
    const waiting = host.executeBatchJob(job);
    // Its answer may be lost with the stream.
    waiting.catch(() => undefined);
    await endless.started;
    happen(conversation);
    await served;
    expect(order).toEqual(['job', 'program']);
    host.close(new Error('the process ended'));
  });

  it('answer the running job as canceled before shutdown, and take no more', async () => {
    const endless = endlessJob();
    const { host, served } = converse(endless.run);
    await host.initialize(initialize);
    const answers: string[] = [];
    const running = host.executeBatchJob(job).catch((error: Error) => answers.push(error.message));
    await endless.started;
    const down = host.shutdown().then(() => answers.push('down'));
    const late = host.executeBatchJob(job).catch((error: Error) => answers.push(error.message));
    await Promise.all([running, down, late, served]);
    expect(answers).toEqual(['shutting down', 'canceled', 'down']);
  });

  it('simulate work that takes longer than a timer of Node holds', async () => {
    const { host } = converse(ok);
    await host.initialize(initialize);
    const running = host.simulateWork({ taskId: 'task-1', durationMs: 2 ** 31 });
    running.catch(() => undefined);
    // A timer that is given more than it holds is over after a millisecond.
    await new Promise((resolve) => setTimeout(resolve, 20));
    await host.cancel('task-1');
    await expect(running).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
  });

  it('hold back a job that prints faster than its output is read, each time', async () => {
    const TOO_MUCH = 10_000;
    let printed = 0;
    let isEnough = false;
    const { host, stdout } = converse(async (_, { output }) => {
      for (; !isEnough && printed < TOO_MUCH; printed++) {
        await output('stdout', 'x'.repeat(1000));
        if (printed % 20 === 0) await new Promise(setImmediate);
      }
      return { status: 'OK' };
    });
    await host.initialize(initialize);
    const running = host.executeBatchJob(job);
    for (let times = 0; times < 3; times++) {
      stdout.pause();
      // The program has filled the stream: the next write waits for somebody to read.
      while (!stdout.writableNeedDrain) await new Promise(setImmediate);
      const before = printed;
      for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
      expect(printed - before).toBeLessThan(100);
      stdout.resume();
      while (printed < Math.min(before + 100, TOO_MUCH)) await new Promise(setImmediate);
    }
    isEnough = true;
    expect(await running).toEqual({ status: 'OK' });
    expect(printed).toBeLessThan(TOO_MUCH);
  });
});

describe('a program that serves several instances', () => {
  const offer = { ...initialize, supportedVersions: [1, 2] };
  const [one, two] = ['sim-1', 'sim-2'].map((id) => ({ ...initialize.instance, id })) as [
    typeof initialize.instance,
    typeof initialize.instance,
  ];
  const shareable = { isShareable: true };

  it('chooses version 2 if it can, and it is offered', async () => {
    const both = converse(ok, { ...shareable, startsScripts: true });
    expect(await both.host.initialize(offer)).toMatchObject({ protocolVersion: 2, startsScripts: true });
    expect(await converse(ok, shareable).host.initialize(initialize)).toMatchObject({ protocolVersion: 1 });
    expect(await converse(ok).host.initialize(offer)).toMatchObject({ protocolVersion: 1 });
  });

  it('prepares an instance also in version 1, when it is initialized', async () => {
    const started: string[] = [];
    const { host } = converse(ok, { ...shareable, startInstance: async ({ id }) => void started.push(id) });
    await host.initialize(initialize);
    expect(started).toEqual(['sim-1']);
    expect(await host.executeBatchJob(job)).toEqual({ status: 'OK' });
  });

  it('runs a job of each at the same time, and tells their output apart', async () => {
    const begun: string[] = [];
    const { host, outputs } = converse(async (_, { instanceId, output, signal }) => {
      begun.push(instanceId);
      const aborted = once(signal, 'abort');
      await output('stdout', `${instanceId}\n`);
      await aborted;
      return { status: 'OK' };
    }, shareable);
    await host.initialize(offer);
    await Promise.all([host.startInstance(one), host.startInstance(two)]);
    // The same task, as after a lost attempt that still runs.
    const first = host.executeBatchJob({ ...job, instanceId: 'sim-1' });
    const second = host.executeBatchJob({ ...job, instanceId: 'sim-2' });
    second.catch(() => undefined);
    await host.cancel('task-1', 'sim-1');
    await expect(first).rejects.toMatchObject({ code: RPC_ERROR.CANCELED });
    expect(begun).toEqual(['sim-1', 'sim-2']);
    expect(outputs.map(({ instanceId, text }) => [instanceId, text])).toEqual([
      ['sim-1', 'sim-1\n'],
      ['sim-2', 'sim-2\n'],
    ]);
    await expect(host.executeBatchJob({ ...job, instanceId: 'sim-2' })).rejects.toThrow(
      'busy with task task-1',
    );
    expect(await host.simulateWork({ taskId: 'task-2', durationMs: 0, instanceId: 'sim-1' })).toBeUndefined();
  });

  it('ends the job of an instance with it, and starts it again', async () => {
    const endless = endlessJob();
    const stopped: string[] = [];
    const { host } = converse(endless.run, {
      ...shareable,
      stopInstance: async (instanceId) => void stopped.push(instanceId),
    });
    await host.initialize(offer);
    await host.startInstance(one);
    const answers: string[] = [];
    const running = host
      .executeBatchJob({ ...job, instanceId: 'sim-1' })
      .catch((error: Error) => answers.push(error.message));
    await endless.started;
    await host.stopInstance('sim-1').then(() => answers.push('stopped'));
    await running;
    expect(answers).toEqual(['canceled', 'stopped']);
    expect(stopped).toEqual(['sim-1']);
    await host.startInstance(one);
    await host.simulateWork({ taskId: 'task-2', durationMs: 0, instanceId: 'sim-1' });
  });

  it('refuses what concerns no instance, or one that is not started or started already', async () => {
    const { host } = converse(ok, shareable);
    await expect(host.startInstance(one)).rejects.toMatchObject({ code: RPC_ERROR.METHOD_NOT_FOUND });
    await host.initialize(offer);
    const refused = { code: RPC_ERROR.INVALID_REQUEST };
    await expect(host.executeBatchJob(job)).rejects.toMatchObject(refused);
    await expect(host.executeBatchJob({ ...job, instanceId: 'sim-2' })).rejects.toMatchObject({
      ...refused,
      message: 'no instance "sim-2" is started',
    });
    await expect(host.stopInstance('sim-2')).rejects.toMatchObject(refused);
    await host.startInstance(one);
    await expect(host.startInstance(one)).rejects.toThrow('the instance sim-1 is started already');
  });

  it('says which instance could not start, and lets it be tried again', async () => {
    let licenses = 1;
    const { host } = converse(ok, {
      ...shareable,
      startInstance: () => (licenses-- > 0 ? Promise.resolve() : Promise.reject(new Error('no license'))),
    });
    await host.initialize(offer);
    await host.startInstance(one);
    await expect(host.startInstance(two)).rejects.toThrow('no license');
    licenses = 1;
    await host.startInstance(two);
    await host.simulateWork({ taskId: 'task-2', durationMs: 0, instanceId: 'sim-2' });
  });

  it('sends the log of an instance by a message', async () => {
    const logs: unknown[] = [];
    const { host, stdout } = converse(async (_, { log }) => {
      log('no room');
      return { status: 'OK' };
    }, shareable);
    stdout.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString().trim().split('\n')) {
        const { method, params } = JSON.parse(line) as { method?: string; params?: unknown };
        if (method === 'log') logs.push(params);
      }
    });
    await host.initialize(offer);
    await host.startInstance(two);
    await host.executeBatchJob({ ...job, instanceId: 'sim-2', requestId: 'r1' });
    expect(logs).toEqual([
      { instanceId: 'sim-2', text: 'test-program: no room (task task-1, request r1)\n' },
    ]);
  });

  it('ends all jobs at shutdown', async () => {
    const { host, served } = converse(async (_, { signal }) => {
      await once(signal, 'abort');
      return { status: 'OK' };
    }, shareable);
    await host.initialize(offer);
    await Promise.all([host.startInstance(one), host.startInstance(two)]);
    const jobs = ['sim-1', 'sim-2'].map((instanceId) =>
      host.executeBatchJob({ ...job, instanceId }).catch((error: Error) => error.message),
    );
    await host.shutdown();
    expect(await Promise.all(jobs)).toEqual(['canceled', 'canceled']);
    await served;
  });
});
