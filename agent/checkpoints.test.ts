/** Checkpoints of jobs that are returned, through a whole agent. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import { windowsPathFault } from '@workbench-hub/shared/domain/reserved-names';
import { expect, test } from 'vitest';
import {
  agentForEachTest,
  batchJob,
  directory,
  hub,
  logLines,
  newRef,
  startHubAnew,
  startReadyAgent,
  stopAgent,
} from './fixtures/agent-for-each-test.js';

agentForEachTest();

const SAVES = [
  'mkdir -p "$WORKBENCH_CHECKPOINT/fields"',
  'echo 1200 > "$WORKBENCH_CHECKPOINT/step"; echo pressure > "$WORKBENCH_CHECKPOINT/fields/p"',
  'echo half > out.txt; echo begun; sleep 600',
].join('\n');
const DELIVERS = 'echo begun; sleep 600';

const filesOf = (files: readonly NamedFileRef[] = []) =>
  Object.fromEntries(files.map(({ path, digest }) => [path, hub.contents.get(digest)?.toString()]));

const named = (path: string, content: string) => ({ path, ...hub.store(content) });

/** Begins a job, and stops the agent when it has printed something; returns the report. */
async function stopDuring(script: string, checkpoint?: readonly NamedFileRef[]): Promise<AttemptReport> {
  const ref = newRef();
  hub.assign(ref, batchJob(script), null, checkpoint);
  await hub.receives('output', ({ text }) => text.includes('begun'));
  await stopAgent();
  return hub.ended(ref);
}

async function runWith(script: string, checkpoint: readonly NamedFileRef[]) {
  const ref = newRef();
  hub.assign(ref, batchJob(script), null, checkpoint);
  const report = await hub.ended(ref);
  const logText = report.log && hub.contents.get(report.log.digest)?.toString();
  return { ...report, outputs: filesOf(report.outputFiles), logText };
}

test('what a job has put into WORKBENCH_CHECKPOINT comes with its return, and nothing is left behind', async () => {
  await startReadyAgent();
  const report = await stopDuring(SAVES);
  expect(report).toMatchObject({
    outcome: 'RETURNED',
    message: 'the agent is stopping',
    outputFiles: [],
    log: null,
  });
  expect(filesOf(report.checkpoint)).toEqual({ 'fields/p': 'pressure\n', step: '1200\n' });
  expect(await readdir(join(directory, 'data', 'work'))).toEqual([]);
  expect(await readdir(join(directory, 'data', 'spool', 'files'))).toEqual([]);
  expect(await readFile(join(directory, 'data/spool/journal.jsonl'), 'utf8')).toBe('');
});

test('a large one is uploaded before its report', async () => {
  await startReadyAgent();
  const report = await stopDuring(
    'head -c 300000 /dev/zero > "$WORKBENCH_CHECKPOINT/restart.bin"; echo begun; sleep 600',
  );
  expect(report.checkpoint).toMatchObject([{ path: 'restart.bin', sizeBytes: 300_000 }]);
  expect(hub.contents.get(report.checkpoint?.[0]?.digest ?? '')).toHaveLength(300_000);
});

test('a job finds the checkpoint of the attempt before in WORKBENCH_CHECKPOINT, and leaves it among no outputs', async () => {
  await startReadyAgent();
  const result = await runWith(
    'cat "$WORKBENCH_CHECKPOINT/step" "$WORKBENCH_CHECKPOINT/fields/p" > out.txt; echo 1300 > "$WORKBENCH_CHECKPOINT/step"',
    [named('fields/p', 'pressure'), named('step', '1200')],
  );
  expect(result).toMatchObject({ outcome: 'OK', outputs: { 'out.txt': '1200pressure' } });
  expect(result.checkpoint).toBeUndefined();
  expect(result.logText).toBe(
    '[agent] restored the checkpoint of an earlier attempt to WORKBENCH_CHECKPOINT: 2 files\n',
  );
  expect(await readdir(join(directory, 'data', 'work'))).toEqual([]);
});

test.each([
  ['goes on from there', DELIVERS, { step: '1200' }],
  ['changes it', `echo 1300 > "$WORKBENCH_CHECKPOINT/step"; ${DELIVERS}`, { step: '1300\n' }],
  ['removes it', `rm "$WORKBENCH_CHECKPOINT/step"; ${DELIVERS}`, {}],
])('one that %s hands it on when it is returned, too', async (_, script, handedOn) => {
  await startReadyAgent();
  const { checkpoint } = await stopDuring(script, [named('step', '1200')]);
  expect(checkpoint).toBeDefined();
  expect(filesOf(checkpoint)).toEqual(handedOn);
});

test('a job that keeps none is returned without one', async () => {
  await startReadyAgent();
  expect(await stopDuring(DELIVERS)).not.toHaveProperty('checkpoint');
});

test('a job begins anew on a host that cannot have a file of its checkpoint, as its log says', async () => {
  await startReadyAgent({ overrides: { hostPathFault: windowsPathFault } });
  const result = await runWith('ls "$WORKBENCH_CHECKPOINT" > out.txt', [
    named('aux', 'a'),
    named('step', '1200'),
  ]);
  expect(result).toMatchObject({ outcome: 'OK', outputs: { 'out.txt': '' } });
  expect(result.logText).toMatch(
    /^\[agent\] starts without the checkpoint of an earlier attempt: the name of its file "aux" must not/,
  );
});

test('and leaves that checkpoint to later attempts when it is returned', async () => {
  await startReadyAgent({ overrides: { hostPathFault: windowsPathFault } });
  expect(await stopDuring(DELIVERS, [named('aux', 'a')])).not.toHaveProperty('checkpoint');
});

test('a job begins anew when the hub no longer has a file of its checkpoint', async () => {
  await startReadyAgent();
  const lost = { path: 'b', digest: 'b'.repeat(64), sizeBytes: 3 };
  const result = await runWith('ls "$WORKBENCH_CHECKPOINT" > out.txt', [named('a', 'kept'), lost]);
  expect(result).toMatchObject({ outcome: 'OK', outputs: { 'out.txt': '' } });
  expect(result.logText).toContain(
    'starts without the checkpoint of an earlier attempt: the hub has no blob',
  );
});

test.each([
  ['a link', 'ln -s step latest', '"latest": it is a link'],
  ['a name that no other host may have', "touch 'a\\\\b'", ': its name must'],
])('a checkpoint with %s is not kept, since a part of it is of no use', async (_, command, why) => {
  await startReadyAgent();
  const report = await stopDuring(
    `cd "$WORKBENCH_CHECKPOINT"; echo 1 > step; ${command}; echo begun; sleep 600`,
  );
  expect(report).not.toHaveProperty('checkpoint');
  expect(report.message).toMatch(/^the agent is stopping; its checkpoint was not kept: /);
  expect(report.message).toContain(why);
});

test('a checkpoint beyond the limits of outputs is left out, and the one before stays', async () => {
  await startReadyAgent({ limits: { outputFiles: 1 } });
  const report = await stopDuring(SAVES);
  expect(report).not.toHaveProperty('checkpoint');
  expect(report.message).toMatch(/^the agent is stopping; its checkpoint was not kept: /);
  expect(logLines.join('')).toContain('the checkpoint of a returned attempt was not kept');
});

test('a checkpoint that reaches no hub before the agent has stopped comes with its next start', async () => {
  await startReadyAgent();
  const ref = newRef();
  hub.assign(ref, batchJob(SAVES));
  await hub.receives('output');
  await hub.stop();
  await stopAgent();
  await startHubAnew();
  await startReadyAgent();
  expect(filesOf((await hub.ended(ref)).checkpoint)).toEqual({ 'fields/p': 'pressure\n', step: '1200\n' });
});
