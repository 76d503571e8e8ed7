/** Start and stop of a hub: obstacles to the start, and waits of the stop. */
import { once } from 'node:events';
import { mkdir, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { hubConfigSchema } from '@workbench-hub/hub/config';
import { createHub } from '@workbench-hub/hub/hub';
import { openAccountsDatabase } from '@workbench-hub/hub/store/sqlite/accounts/accounts-database';
import { openDatabase } from '@workbench-hub/hub/store/sqlite/connection/database';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { memoryLog } from '../support/memory-log.js';
import { TESTED_STORE } from '../support/stores/tested-store.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const TASKS = '/api/2.0/workbench/task';

let folder: TemporaryFolder;
let dataDir: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  dataDir = join(folder.path, 'data');
});
afterEach(() => folder.remove());

/** Starts a hub that must be refused; resolves with the reason. */
async function refusal(setup: Parameters<typeof startHub>[0]): Promise<string> {
  const outcome = await startHub({ dataDir, ...setup }).catch((error: unknown) => error);
  if (outcome instanceof StartRefused) return outcome.message;
  throw new Error('the start was not refused', { cause: outcome });
}

describe('start and stop of a hub', () => {
  const answers = (address: string) =>
    fetch(`${address}/readyz`).then(
      ({ status }) => status,
      () => 'nobody',
    );

  it('may be called in any order and repeatedly', async () => {
    const config = hubConfigSchema.parse({ dataDir, server: { port: 0 } });
    const hub = createHub(config, memoryLog().log);
    await hub.stop();
    await Promise.all([hub.start(), hub.start()]);
    const { address } = hub;
    expect(await answers(address)).toBe(200);
    await Promise.all([hub.stop(), hub.stop()]);
    expect(await answers(address)).toBe('nobody');

    const starting = hub.start();
    await Promise.all([starting, hub.stop()]);
    expect(await answers(hub.address)).toBe('nobody');
    await (await startHub({ dataDir })).stop();
  });
});

describe('the start of a hub', () => {
  it('is refused when the port is in use, and releases the database', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    expect(await refusal({ config: { server: { port } } })).toBe(
      `port ${port} of 127.0.0.1 is in use: stop what listens there, or set server.port`,
    );
    other.close();
    await (await startHub({ dataDir })).stop();
  });

  it('is refused while another hub uses the data folder', async () => {
    const first = await startHub({ dataDir });
    expect(await refusal({})).toMatch(
      TESTED_STORE === 'sqlite'
        ? /hub\.sqlite is in use: another hub runs with the same dataDir$/
        : /^the data folder \S+ is in use: another hub runs with the same dataDir$/,
    );
    await first.stop();
    await (await startHub({ dataDir })).stop();
  });

  // postgres-opening.test.ts has the same for PostgreSQL.
  for (const name of TESTED_STORE === 'sqlite' ? ['hub.sqlite', 'accounts.sqlite'] : []) {
    it(`is refused when a newer hub wrote ${name}, with what to do`, async () => {
      await (await startHub({ dataDir })).stop();
      const open = name === 'hub.sqlite' ? openDatabase : openAccountsDatabase;
      const newer = open(join(dataDir, name));
      newer.pragma('user_version = 99');
      newer.close();
      expect(await refusal({})).toMatch(
        new RegExp(
          `${name} has schema version 99, .*: start the newer hub .*, or restore a backup from before`,
        ),
      );
    });
  }

  it('that fails for another reason releases the database', async () => {
    await mkdir(dataDir, { recursive: true });
    await writeFile(join(dataDir, 'files'), 'no folder');
    await expect(startHub({ dataDir })).rejects.toMatchObject({ code: 'EEXIST' });
    await rm(join(dataDir, 'files'));
    await (await startHub({ dataDir })).stop();
  });

  it('creates a join token when none is configured, and keeps it', async () => {
    for (let at = 0; at < 2; at++) {
      const hub = await startHub({ dataDir, config: { agents: { token: null } } });
      const token = (await readFile(join(dataDir, 'agent-token'), 'utf8')).trim();
      const agent = await FakeAgent.join({ ...hub, token });
      await agent.leave();
      await hub.stop();
    }
  });

  it('restores tasks, results and agents', async () => {
    let hub = await startHub({ dataDir });
    const agent = await FakeAgent.join(hub, { id: 'host-a' });
    const ended = await new Api(hub).batchJob({ name: 'ended' });
    const { ref } = await agent.hear('assign');
    const outputFiles = [{ path: 'a', ...(await agent.upload(Buffer.alloc(100_000, 'a'))) }];
    await agent.end(ref, 'OK', { outputFiles, log: await agent.upload('log') });
    const running = await new Api(hub).simulateWork();
    await agent.hear('assign');
    const waiting = await new Api(hub).simulateWork();
    await hub.stop();

    hub = await startHub({ dataDir });
    const api = new Api(hub);
    const { body } = await api.get(`${TASKS}/execute-batch-job/${ended}/result`);
    expect((body['outputFiles'] as { content: string }[])[0]?.content).toHaveLength(
      Math.ceil(100_000 / 3) * 4,
    );
    expect((await api.get(`${TASKS}/${ended}/log`)).text).toBe('log');
    expect(await api.task(running)).toMatchObject({ status: 'RUNNING' });
    expect(await api.task(waiting)).toMatchObject({ status: 'WAITING' });
    expect((await api.get('/api/2.0/workbench/node/agent/host-a')).body).toMatchObject({ status: 'DOWN' });
    await hub.stop();
  });
});

describe('the stop of a hub', () => {
  it('closes the connections of agents with a reason', async () => {
    const hub = await startHub();
    const agent = await FakeAgent.join(hub);
    await hub.stop();
    expect(await agent.closed()).toBe('the hub stops');
  });

  it('does not wait for idle connections', async () => {
    const hub = await startHub();
    const { hostname, port } = new URL(hub.address);
    const unused = connect(Number(port), hostname);
    const kept = connect(Number(port), hostname);
    await Promise.all([once(unused, 'connect'), once(kept, 'connect')]);
    kept.write('GET /livez HTTP/1.1\r\nHost: hub\r\n\r\n');
    await once(kept, 'data');
    const began = performance.now();
    const ends = [once(unused, 'close'), once(kept, 'close')];
    for (const socket of [unused, kept]) socket.resume();
    await hub.stop();
    await Promise.all(ends);
    expect(performance.now() - began).toBeLessThan(4000);
  });

  it('does not wait for an agent that hangs', async () => {
    // A hub that stops waits 5 s; the time of this one runs 50 times as fast then.
    let speed = 1;
    const hub = await startHub({ runtime: withTimers((delayMs) => delayMs / speed) });
    const socket = new WebSocket(hub.address.replace('http', 'ws') + AGENT_PATHS.CONNECT, {
      headers: { authorization: `Bearer ${hub.token}` },
    });
    await once(socket, 'open');
    socket.pause();
    speed = 50;
    const began = performance.now();
    await hub.stop();
    expect(performance.now() - began).toBeLessThan(4000);
    socket.terminate();
  });
});

describe('a client that disconnects', () => {
  it('frees its long poll', async () => {
    const waiting = new Set<Timer>();
    const hub = await startHub({
      runtime: withTimers(
        (delayMs) => delayMs,
        (delayMs, timer) => {
          if (delayMs === 86_400_000) waiting.add(timer);
        },
        (timer) => waiting.delete(timer),
      ),
    });
    const api = new Api(hub);
    const id = await api.simulateWork();
    const client = new AbortController();
    const path = `${TASKS}/simulate-work/${id}/result?timeout=86400`;
    const answer = api.call('GET', path, { signal: client.signal });
    await eventually(() => waiting.size === 1);
    client.abort();
    await expect(answer).rejects.toThrow('abort');
    await eventually(() => waiting.size === 0);
    expect((await api.get(`${TASKS}/simulate-work/${id}/result`)).body).toMatchObject({ status: 'WAITING' });
    await hub.stop();
  });

  it.runIf(process.platform === 'linux')('or sends HEAD leaves no file open', async () => {
    const hub = await startHub();
    const api = new Api(hub);
    const agent = await FakeAgent.join(hub);
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    const log = await agent.upload(Buffer.alloc(20_000_000, 'log'));
    const { digest } = log;
    await agent.end(ref, 'OK', { log });
    const openLogs = async () => {
      const descriptors = await readdir('/proc/self/fd');
      const paths = await Promise.all(
        descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
      );
      return paths.filter((path) => path.endsWith(digest)).length;
    };
    for (let at = 0; at < 3; at++) await api.call('HEAD', `${TASKS}/${id}/log`);
    const response = await fetch(`${hub.address}${TASKS}/${id}/log`);
    const reader = response.body?.getReader();
    await reader?.read();
    await eventually(async () => (await openLogs()) === 1);
    await reader?.cancel();
    await eventually(async () => (await openLogs()) === 0);
    await agent.leave();
    await hub.stop();
  });
});

/** The machine's runtime with other delays, which counts its timers. */
function withTimers(
  delay: (delayMs: number) => number,
  onBegin: (delayMs: number, timer: Timer) => void = () => undefined,
  onEnd: (timer: Timer) => void = () => undefined,
): Runtime {
  return {
    ...systemRuntime,
    timers: {
      soon: systemRuntime.timers.soon,
      after: (delayMs, action) => {
        const inner = systemRuntime.timers.after(delay(delayMs), () => {
          onEnd(timer);
          action();
        });
        const timer: Timer = {
          cancel: () => {
            onEnd(timer);
            inner.cancel();
          },
        };
        onBegin(delayMs, timer);
        return timer;
      },
    },
  };
}
