/** An agent joins a hub, does simulated work and stops. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  agentForEachTest,
  batchJob,
  directory,
  hub,
  logLines,
  newRef,
  SIM,
  startAgent,
  startHubAnew,
  startReadyAgent,
  stopAgent,
} from './fixtures/agent-for-each-test.js';
import { FakeHub, TOKEN } from './fixtures/fake-hub.js';

agentForEachTest();

describe('joining', () => {
  test('introduces itself with its instances', async () => {
    await startReadyAgent({ instance: { labels: ['gears'], revision: '4711' } });
    const hello = await hub.receives('hello');
    const installation = { kind: 'CHECKOUT', os: 'linux', arch: 'x64' };
    expect(hello).toMatchObject({
      agent: { id: 'host-1', version: '1.0.0', installation },
      running: [],
      spooled: [],
    });
    expect(hello.instances).toMatchObject([
      { id: SIM, version: '9.1.0', revision: '4711', labels: ['gears'] },
    ]);
  });

  test('keeps its node id over restarts', async () => {
    await startAgent();
    const { agent: first } = await hub.receives('hello');
    await stopAgent();
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

  test('says what to do about a refusal, and keeps trying', async () => {
    hub.refusal = { type: 'refused', code: 'INSTANCE_ID_TAKEN', message: 'sim-1 is connected from host-2' };
    await startAgent();
    await expect
      .poll(() => logLines.join(''))
      .toContain('refused: sim-1 is connected from host-2; give the instance');
    hub.refusal = null;
    await hub.instanceBecomes(SIM, 'UP');
  });

  test('numbers its joins upwards, and beyond the number of a join that the hub knows', async () => {
    await startReadyAgent();
    const first = await hub.receives('hello');
    const latestJoin = Date.now() + 60 * 60_000;
    hub.refusal = { type: 'refused', code: 'JOIN_OUTDATED', message: 'the clock was set back', latestJoin };
    const seen = hub.received.length;
    hub.disconnect();
    const second = await hub.receives('hello', () => true, seen);
    hub.refusal = null;
    const third = await hub.receives('hello', (hello) => hello !== second, seen);
    expect(first.joinNumber).toBeLessThan(second.joinNumber ?? 0);
    expect(third.joinNumber).toBeGreaterThan(latestJoin);
  });

  test('stops while no hub is there', async () => {
    await startAgent({ hub: 'ws://127.0.0.1:1' });
    await expect.poll(() => logLines.join('')).toContain('nothing listens at this address (ECONNREFUSED)');
    await stopAgent();
  });

  test('refuses a second agent on its data directory, and takes over after a dead one', async () => {
    await startAgent();
    await expect(startAgent()).rejects.toThrow(/in use by another agent/);
    await stopAgent();
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

describe('stopping', () => {
  test('gives a running task back at once and leaves nothing behind', async () => {
    await startReadyAgent();
    const ref = newRef();
    hub.assign(ref, batchJob('echo begun; sleep 600'));
    await hub.receives('output');
    await stopAgent();
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'RETURNED', message: 'the agent is stopping' });
    expect(await readdir(join(directory, 'data', 'work'))).toEqual([]);
    expect(await readFile(join(directory, 'data/spool/journal.jsonl'), 'utf8')).toBe('');
    expect(await readdir(join(directory, 'data'))).not.toContain('agent.lock');
  });

  test('lets a running task end, begins nothing more, and waits until its result is with the hub', async () => {
    hub.acknowledges = false;
    await startReadyAgent({ drainTimeout: '60s' });
    const ref = newRef();
    const go = join(directory, 'go');
    hub.assign(ref, batchJob(`echo begun; until [ -e ${go} ]; do sleep 0.02; done; echo done > out.txt`));
    await hub.receives('output');
    const stopped = stopAgent();
    await hub.instanceBecomes(SIM, 'STOPPING');
    const late = newRef();
    hub.assign(late, batchJob('echo late'));
    expect(await hub.ended(late)).toMatchObject({ outcome: 'RETURNED' });
    hub.acknowledge(late);
    await writeFile(go, '');
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'OK', outputFiles: [{ path: 'out.txt' }] });
    expect(hub.isJoined).toBe(true);
    hub.acknowledge(ref);
    await stopped;
    expect(await readFile(join(directory, 'data/spool/journal.jsonl'), 'utf8')).toBe('');
  });

  test('gives back what still runs when drainTimeout is over', async () => {
    await startReadyAgent({ drainTimeout: '100ms' });
    const ref = newRef();
    hub.assign(ref, batchJob('echo begun; sleep 600'));
    await hub.receives('output');
    await stopAgent();
    expect(await hub.ended(ref)).toMatchObject({ outcome: 'RETURNED', message: 'the agent is stopping' });
    expect(logLines.join('')).toContain('drainTimeout is over: running tasks are returned');
  });

  test('does not wait for a hub that is away: results stay in the spool', async () => {
    await startReadyAgent({ drainTimeout: '60s' });
    const ref = newRef();
    const go = join(directory, 'go');
    hub.assign(ref, batchJob(`echo begun; until [ -e ${go} ]; do sleep 0.02; done`));
    await hub.receives('output');
    const stopped = stopAgent();
    await hub.instanceBecomes(SIM, 'STOPPING');
    await hub.stop();
    await writeFile(go, '');
    await stopped;
    expect(await readFile(join(directory, 'data/spool/journal.jsonl'), 'utf8')).toContain(ref.taskId);
    await startHubAnew();
  });
});
