/** An agent with several hubs: it learns their addresses, goes on to the next one, and moves with all that it runs. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  agentForEachTest,
  batchJob,
  directory,
  hub,
  joins,
  logLines,
  newRef,
  SIM,
  startReadyAgent,
} from './fixtures/agent-for-each-test.js';
import { FakeHub } from './fixtures/fake-hub.js';

agentForEachTest();

let other: FakeHub;
beforeEach(async () => {
  other = await FakeHub.start();
});
afterEach(() => other.stop());

/** Asks the joined agent to move to the other hub; resolves when it has said hello there. */
async function move() {
  hub.send({ type: 'move', reason: 'the hub stops', to: [other.address] });
  return other.receives('hello');
}

describe('an agent that was told of another hub', () => {
  test('by the welcome, joins it when its own is gone', async () => {
    hub.hubs = [other.address];
    await startReadyAgent();
    await hub.stop();
    await other.receives('hello');
    await expect.poll(joins).toHaveLength(2);
  });

  test('keeps its address in memory only', async () => {
    hub.hubs = [other.address];
    await startReadyAgent();
    await hub.stop();
    await other.receives('hello');
    await expect.poll(joins).toHaveLength(2);
    const entries = await readdir(join(directory, 'data'), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(0);
    for (const { parentPath, name } of files)
      expect(await readFile(join(parentPath, name), 'utf8'), name).not.toContain(new URL(other.address).host);
  });

  test('by a later message, joins it when its own is gone', async () => {
    hub.hubs = ['ws://127.0.0.1:1'];
    await startReadyAgent();
    expect((await hub.receives('hello')).takes).toEqual(['hubs', 'move']);
    hub.send({ type: 'hubs', hubs: [other.address] });
    hub.send({
      type: 'request',
      requestId: '1',
      request: { kind: 'instanceLog', instanceId: SIM, logType: 'stdout' },
    });
    await hub.receives('reply');
    await hub.stop();
    await other.receives('hello');
    expect(logLines.join('')).not.toContain('ws://127.0.0.1:1"');
  });

  test('with another scheme, does not use its address, and says so', async () => {
    hub.hubs = [other.address.replace('ws:', 'wss:'), other.address];
    await startReadyAgent();
    expect(logLines.join('')).toContain('addresses of other hubs are not used');
    await hub.stop();
    await other.receives('hello');
    expect(logLines.join('')).not.toContain('not joined: the TLS handshake failed');
  });
});

describe('a move', () => {
  test('takes along what runs and what is not delivered, and nothing ends twice', async () => {
    await startReadyAgent();
    const [running, spooled] = [newRef(), newRef()];
    hub.acknowledges = false;
    hub.assign(spooled, { type: 'SIMULATE_WORK', durationS: 0 });
    await hub.ended(spooled);
    hub.assign(running, { type: 'SIMULATE_WORK', durationS: 600 });
    const { running: taken, spooled: told } = await move();
    expect([taken, told]).toEqual([[running], [spooled]]);
    expect((await other.ended(spooled)).outcome).toBe('OK');
    other.send({ type: 'cancel', ref: running });
    expect((await other.ended(running)).outcome).toBe('CANCELED');
    expect(hub.received.filter(({ type }) => type === 'report')).toHaveLength(1);
  });

  test('is one line in the log, with both hubs and the reason', async () => {
    await startReadyAgent();
    await move();
    await expect.poll(joins).toHaveLength(2);
    expect(JSON.parse(joins()[1] as string)).toMatchObject({
      hub: other.address,
      left: hub.address,
      reason: 'the hub stops',
    });
    expect(logLines.join('')).not.toContain('the connection to the hub has ended');
  });

  test('takes along what the hub has sent until it closes the connection', async () => {
    await startReadyAgent();
    const [late, done] = [newRef(), newRef()];
    hub.acknowledges = false;
    hub.assign(done, { type: 'SIMULATE_WORK', durationS: 0 });
    await hub.ended(done);
    hub.onLeaving = () => {
      hub.acknowledge(done);
      hub.assign(late, { type: 'SIMULATE_WORK', durationS: 600 });
    };
    const { running, spooled } = await move();
    expect([running, spooled]).toEqual([[late], []]);
  });

  test('declines what its hub asked while it left, and replies to the next hub', async () => {
    await startReadyAgent();
    const request = { kind: 'instanceCommand', instanceId: SIM, command: 'stop' } as const;
    hub.onLeaving = () => hub.send({ type: 'request', requestId: '1', request });
    await move();
    other.send({
      type: 'request',
      requestId: '2',
      request: { kind: 'instanceLog', instanceId: SIM, logType: 'stdout' },
    });
    expect((await other.receives('reply')).requestId).toBe('2');
    expect(hub.received.filter(({ type }) => type === 'reply')).toEqual([]);
    const seen = other.received.filter(({ type }) => type === 'instance');
    expect(seen).toEqual([]);
  });

  test('continues the download of an input from the other hub', async () => {
    await startReadyAgent();
    const ref = newRef();
    const job = batchJob('true');
    hub.brokenStatus = 503;
    hub.assign(ref, job);
    await expect.poll(() => hub.requests.length).toBeGreaterThan(0);
    for (const [digest, content] of hub.contents) other.contents.set(digest, content);
    const { running } = await move();
    expect(running).toEqual([ref]);
    expect((await other.ended(ref)).outcome).toBe('OK');
  });

  test('from a hub that does not close the connection takes place after 2 s', async () => {
    await startReadyAgent();
    hub.closesWhenLeft = false;
    const beganMs = performance.now();
    await move();
    expect(performance.now() - beganMs).toBeGreaterThan(1900);
    await expect.poll(() => hub.isJoined).toBe(false);
  });

  test('to a hub that is not there does not take place', async () => {
    await startReadyAgent();
    hub.send({ type: 'move', reason: 'the hub is crowded', to: ['ws://127.0.0.1:1'] });
    await expect.poll(() => logLines.join('')).toContain('no other hub can be joined');
    expect(hub.isJoined).toBe(true);
    expect(hub.received.filter(({ type }) => type === 'leaving')).toEqual([]);
  });
});
