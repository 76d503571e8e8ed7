/** One process for several instances, through a whole agent: the instances stay independent. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, test } from 'vitest';
import {
  agentForEachTest,
  batchJob,
  directory,
  hub,
  logLines,
  newRef,
  startAgent,
  stopAgent,
} from './fixtures/agent-for-each-test.js';
import { hasControlGroups } from './process/fixtures/isolation.js';
import { linux } from './process/linux.js';

agentForEachTest();

const IDS = ['sim-1', 'sim-2', 'sim-3'] as const;
const [ONE, TWO, THREE] = IDS;
const RUNNER = [
  process.execPath,
  fileURLToPath(new URL('../packages/runner/bin/workbench-runner.js', import.meta.url)),
  ...['--interpreter', 'sh'],
];
const PYTHON_EXAMPLE = [
  'python3',
  fileURLToPath(new URL('../packages/docs/examples/adapter.py', import.meta.url)),
  'sh',
];
const COMMON = { program: 'common-workbench' };

async function startThree({ program, ...instance }: { program?: string; [key: string]: unknown }) {
  await startAgent({
    ...(program === undefined ? {} : { program }),
    instance: { id: 'sim', count: IDS.length, ...instance },
  });
  await areUp();
}

async function areUp(from = 0): Promise<void> {
  for (const id of IDS) await hub.instanceBecomes(id, 'UP', from);
}

/** Starts a job; the report comes by `hub.ended`. */
function begin(instanceId: string, script: string) {
  const ref = newRef(instanceId);
  hub.assign(ref, batchJob(script));
  return ref;
}

async function printedBy(report: AttemptReport): Promise<string> {
  return (report.log && hub.contents.get(report.log.digest)?.toString()) ?? '';
}

async function run(instanceId: string, script: string) {
  const report = await hub.ended(begin(instanceId, script));
  return { outcome: report.outcome, message: report.message, printed: await printedBy(report) };
}

/** Starts a job that runs until a file is there, and resolves when it runs. */
async function beginLasting(instanceId: string) {
  const flag = join(directory, `end-${instanceId}-${systemRuntime.newId()}`);
  const script = `echo half > "$WORKBENCH_CHECKPOINT/half"; echo begun; until test -e ${flag}; do sleep 0.02; done`;
  const ref = begin(instanceId, script);
  await hub.receives('output', (output) => output.ref.taskId === ref.taskId);
  return { ref, end: () => writeFile(flag, '') };
}

/** Processes of the agent that are programs, by id. */
async function programs(): Promise<Set<number>> {
  const pids = await Promise.all(IDS.map(async (id) => Number((await run(id, 'echo $PPID')).printed)));
  return new Set(pids);
}

async function command(instanceId: string, name: 'start' | 'stop' | 'restart'): Promise<void> {
  const requestId = systemRuntime.newId();
  hub.send({ type: 'request', requestId, request: { kind: 'instanceCommand', instanceId, command: name } });
  expect((await hub.receives('reply', (reply) => reply.requestId === requestId)).error).toBeNull();
}

async function logOf(instanceId: string): Promise<string> {
  const requestId = systemRuntime.newId();
  hub.send({
    type: 'request',
    requestId,
    request: { kind: 'instanceLog', instanceId, logType: 'console' },
  });
  return (await hub.receives('reply', (reply) => reply.requestId === requestId)).text ?? '';
}

/** Processes of the agent that are left. */
async function left(): Promise<readonly number[]> {
  const nodeId = (await readFile(join(directory, 'data', 'node-id'), 'utf8')).trim();
  return (await linux.findByCookie(`${nodeId}/`)).pids;
}

function changesOf(instanceId: string, from: number): string[] {
  return hub.received
    .slice(from)
    .flatMap((message) =>
      message.type === 'instance' && message.instance.id === instanceId ? [message.instance.status] : [],
    );
}

describe('instances of one entry', () => {
  test.each([
    ['the runner', 1, { command: RUNNER }],
    ['a program of version 2', 1, COMMON],
    ['the runner, if they are separated', 3, { command: RUNNER, sharedProcess: false }],
    ['a program of version 1', 3, { program: 'shell-workbench' }],
    ['the example in Python', 3, { command: PYTHON_EXAMPLE }],
  ])('are served by %s in %i processes', async (_, count, keys) => {
    await startThree(keys);
    expect((await programs()).size).toBe(count);
    await stopAgent();
    expect(await left()).toEqual([]);
  });

  test('run jobs at the same time, each with its own log and outputs', async () => {
    await startThree({ command: RUNNER });
    const lasting = await Promise.all(IDS.map(beginLasting));
    await Promise.all(lasting.map(({ end }) => end()));
    for (const { ref } of lasting) expect(await hub.ended(ref)).toMatchObject({ outcome: 'OK' });
    const reports = await Promise.all(
      IDS.map((id) => hub.ended(begin(id, `echo this is ${id}; echo ${id} > name`))),
    );
    for (const [index, report] of reports.entries()) {
      expect(await printedBy(report)).toBe(`this is ${IDS[index]}\n`);
      const [output] = report.outputFiles;
      expect(hub.contents.get(output?.digest ?? '')?.toString()).toBe(`${IDS[index]}\n`);
    }
    expect(await logOf(TWO)).toContain(`this is ${TWO}`);
    expect(await logOf(TWO)).not.toContain(`this is ${ONE}`);
  });

  test('stop, start and restart one by one; the last one ends the process', async () => {
    await startThree(COMMON);
    const [pid] = await programs();
    const lasting = await beginLasting(THREE);
    const seen = hub.received.length;
    await command(ONE, 'stop');
    await hub.instanceBecomes(ONE, 'DOWN', seen);
    await command(TWO, 'restart');
    await hub.instanceBecomes(TWO, 'UP', seen);
    await command(ONE, 'start');
    await hub.instanceBecomes(ONE, 'UP', seen);
    expect(changesOf(THREE, seen)).toEqual([]);
    expect(Number((await run(ONE, 'echo $PPID')).printed)).toBe(pid);
    expect(await logOf(ONE)).toContain(`joined process ${pid} of other instances`);
    await lasting.end();
    expect(await hub.ended(lasting.ref)).toMatchObject({ outcome: 'OK' });
    const stopping = hub.received.length;
    for (const id of IDS) await command(id, 'stop');
    for (const id of IDS) await hub.instanceBecomes(id, 'DOWN', stopping);
    expect(await left()).toEqual([]);
    await command(TWO, 'start');
    await hub.instanceBecomes(TWO, 'UP', stopping);
    expect(Number((await run(TWO, 'echo $PPID')).printed)).not.toBe(pid);
  });

  test('are up again when all are stopped and started at the same time', async () => {
    await startThree(COMMON);
    for (let times = 0; times < 5; times++) {
      const seen = hub.received.length;
      for (const id of IDS) await command(id, times % 2 === 0 ? 'stop' : 'restart');
      for (const id of IDS) await command(id, 'start');
      await areUp(seen);
    }
    expect((await programs()).size).toBe(1);
    await stopAgent();
    expect(await left()).toEqual([]);
  });

  test('have their own lines in their logs, and share what the process says', async () => {
    await startThree(COMMON);
    await run(ONE, 'echo to all >&2');
    expect(await logOf(ONE)).toContain('common-workbench: sim-1 begins (task');
    expect(await logOf(TWO)).not.toContain('sim-1 begins');
    await expect.poll(() => logOf(TWO)).toContain('to all');
  });
});

describe('a job in a common process that is canceled', () => {
  test.each([
    ['by the program', { command: RUNNER }, 'echo begun; sleep 1000'],
    [
      'by the end of its processes, if the program ignores it',
      { ...COMMON, cancelTimeout: '100ms' },
      ': deaf; echo begun; sleep 1000',
    ],
  ])('ends %s, while the others continue', async (_, keys, script) => {
    await startThree(keys);
    const other = await beginLasting(TWO);
    const ref = begin(ONE, script);
    await hub.receives('output', (output) => output.ref.taskId === ref.taskId);
    const seen = hub.received.length;
    hub.send({ type: 'cancel', ref });
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'CANCELED' });
    if (script.startsWith(': deaf')) await hub.instanceBecomes(ONE, 'UP', seen);
    expect(await run(ONE, 'echo next')).toMatchObject({ outcome: 'OK', printed: 'next\n' });
    expect(changesOf(TWO, seen)).toEqual([]);
    expect(changesOf(THREE, seen)).toEqual([]);
    await other.end();
    expect(await hub.ended(other.ref)).toMatchObject({ outcome: 'OK' });
  });

  test('takes the process with it if nothing else ends it; the other job is returned, and nothing is counted', async () => {
    await startThree({ ...COMMON, cancelTimeout: '50ms' });
    const other = await beginLasting(TWO);
    const ref = begin(ONE, 'stubborn');
    await hub.receives('output', (output) => output.ref.taskId === ref.taskId);
    const seen = hub.received.length;
    hub.send({ type: 'cancel', ref });
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'CANCELED' });
    const returned = await hub.ended(other.ref);
    expect(returned).toMatchObject({
      outcome: 'RETURNED',
      message: expect.stringContaining('was killed to end sim-1, another instance of the same process'),
    });
    expect(returned.hostFault).toBeUndefined();
    await areUp(seen);
    expect((await programs()).size).toBe(1);
    expect(logLines.join('')).not.toContain('next start in');
  });
});

describe('a crash of a common process', () => {
  test('with one job loses that one, and counts no failure of the others', async () => {
    await startThree(COMMON);
    const seen = hub.received.length;
    expect(await run(ONE, 'die')).toMatchObject({ outcome: 'INSTANCE_LOST' });
    await areUp(seen);
    expect(await logOf(ONE)).toContain('next start in');
    expect(await logOf(TWO)).not.toContain('next start in');
    expect((await programs()).size).toBe(1);
  });

  test('with several jobs returns them all, and keeps the instances apart afterwards', async () => {
    await startThree(COMMON);
    const other = await beginLasting(TWO);
    const seen = hub.received.length;
    const died = hub.ended(begin(ONE, 'die'));
    expect(await died).toMatchObject({ outcome: 'RETURNED' });
    const returned = await hub.ended(other.ref);
    expect(returned).toMatchObject({ outcome: 'RETURNED' });
    // Its files may be the cause.
    expect(returned).not.toHaveProperty('checkpoint');
    await areUp(seen);
    expect((await programs()).size).toBeGreaterThan(1);
    const again = await beginLasting(TWO);
    expect(await run(ONE, 'die')).toMatchObject({ outcome: 'INSTANCE_LOST' });
    await again.end();
    expect(await hub.ended(again.ref)).toMatchObject({ outcome: 'OK' });
  });
});

const isGrouped = await hasControlGroups();

const DAEMON = (environment: string) =>
  `setsid ${environment} sh -c 'while :; do echo alive >> late; sleep 0.01; done' > /dev/null 2>&1 &
echo $! > pid; until [ -s late ]; do sleep 0.01; done; cat pid`;

describe('processes that a job leaves behind in a common process', () => {
  test('end with it, and those of another job do not', async () => {
    await startThree({ command: RUNNER });
    const daemon = begin(TWO, `${DAEMON('')}; sleep 1000`);
    const { text } = await hub.receives('output', (output) => output.ref.taskId === daemon.taskId);
    const { printed } = await run(ONE, DAEMON(''));
    expect(Number(printed)).toBeGreaterThan(0);
    expect(linux.identify(Number(printed))).toBeUndefined();
    expect(linux.identify(Number.parseInt(text, 10))).toBeDefined();
    hub.send({ type: 'cancel', ref: daemon });
    expect(await hub.ended(daemon)).toMatchObject({ outcome: 'CANCELED' });
    expect(linux.identify(Number.parseInt(text, 10))).toBeUndefined();
  });

  test.skipIf(!isGrouped)('end with it also if they hide', async () => {
    await startThree({ command: RUNNER });
    const other = begin(TWO, '#!/usr/bin/env -S -i sh\necho begun; sleep 1000');
    await hub.receives('output', (output) => output.ref.taskId === other.taskId);
    const { printed } = await run(ONE, DAEMON('env -i'));
    expect(Number(printed)).toBeGreaterThan(0);
    expect(linux.identify(Number(printed))).toBeUndefined();
    // The other job has cleared its environment, too, and still has its parents.
    const seen = hub.received.length;
    hub.send({ type: 'cancel', ref: other });
    expect(await hub.ended(other)).toMatchObject({ outcome: 'CANCELED' });
    expect(hub.received.slice(seen).some(({ type }) => type === 'instance')).toBe(false);
    expect(await readdir(join(directory, 'data', 'work'))).toEqual([]);
  });
});
