/** Findings of `workbench-hub doctor` in a sound hub, and in damaged ones. */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { checkHost } from '@workbench-hub/hub/commands/check-host';
import { examine } from '@workbench-hub/hub/commands/doctor/examine';
import { checkUpstreamLinks } from '@workbench-hub/hub/commands/doctor/upstream-checks';
import { type HubConfig, hubConfigSchema } from '@workbench-hub/hub/config';
import { openAccountStore } from '@workbench-hub/hub/store/open-store';
import type { Finding } from '@workbench-hub/shared/checks/finding';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api, base64 } from '../support/interface/api.js';
import { runCommand } from '../support/programs/run-command.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;
let dataDir: string;
let hub: RunningHub | undefined;
beforeEach(async () => {
  folder = await temporaryFolder();
  dataDir = join(folder.path, 'hub');
});
afterEach(async () => {
  await hub?.stop();
  hub = undefined;
  await folder.remove();
});

/** Starts a hub, stores something in it, and stops it. */
async function hubThatWasThere(
  work: (api: Api) => Promise<unknown> = async () => undefined,
): Promise<HubConfig> {
  const started = await startHub({ dataDir });
  try {
    await work(new Api(started));
  } finally {
    await started.stop();
  }
  return started.config;
}

const doctor = (config: HubConfig, deep = false) =>
  examine(config, { deep, clock: systemRuntime.clock, environment: process.env });

const told = (findings: readonly Finding[]) =>
  findings
    .filter(({ state }) => state !== 'OK')
    .map(({ state, check, message }) => `${state} ${check}: ${message}`);

const large = () => ({ inputScripts: [{ content: base64(randomBytes(100_000)) }] });

function contentFile(): string {
  const contents = join(dataDir, 'files');
  const name = readdirSync(contents, { recursive: true, encoding: 'utf8' }).find((path) =>
    /[0-9a-f]{64}$/.test(path),
  );
  return join(contents, name ?? expect.fail('there is no content'));
}

describe('the doctor', () => {
  it('says that a workload manager does not answer', async () => {
    const command = ['/nonexistent/command'];
    const manager = {
      kind: 'command',
      submit: command,
      list: command,
      cancel: command,
      check: command,
    } as const;
    const instances = [{ id: 'gear', version: '9.1' }];
    const recipe = { name: 'gears', manager, folder: dataDir, agent: { hub: 'ws://127.0.0.1:9', instances } };
    const started = await startHub({ dataDir, config: { hosts: [recipe] } });
    await started.stop();
    expect(told(await doctor(started.config))).toEqual([
      'FAULT hosts gears: command does not answer: /nonexistent/command cannot be started: there is no such program',
    ]);
  });

  it('finds nothing wrong with a sound hub, whether or not it runs, and changes nothing', async () => {
    const config = await hubThatWasThere((api) => api.batchJob(large()));
    // SQLite creates files that readers and writers share beside a database that is read.
    const kept = () => readdirSync(dataDir).filter((name) => !/-(wal|shm)$/.test(name));
    const before = kept();
    expect(told(await doctor(config, true))).toEqual([]);
    expect(kept()).toEqual(before);

    hub = await startHub({ dataDir });
    const port = Number(new URL(hub.address).port);
    const findings = await doctor({ ...config, server: { ...config.server, port } });
    expect(told(findings)).toEqual([]);
    expect(findings.at(-1)?.message).toBe(`a hub runs on this dataDir and answers on port ${port}`);
  });

  it('asks the upstreams whether the hub could join them', async () => {
    hub = await startHub({ dataDir });
    const url = hub.address.replace('http', 'ws');
    const upstream = (name: string, rest: object) => ({ name, url, id: 'berlin', ...rest });
    const config = hubConfigSchema.parse({
      dataDir: join(folder.path, 'site'),
      upstreams: [
        upstream('joined', { token: hub.token }),
        upstream('refused', { token: 'wrong' }),
        upstream('unknown', {}),
        upstream('away', { token: 'any', url: 'ws://127.0.0.1:9' }),
      ],
    });
    const findings = await checkUpstreamLinks(config, systemRuntime);
    expect(findings).toEqual([
      expect.objectContaining({ state: 'OK', message: `${url}, version 0.1.0, accepts this hub as berlin` }),
      expect.objectContaining({
        state: 'FAULT',
        message: expect.stringContaining('does not accept the token (401)'),
      }),
      expect.objectContaining({
        state: 'FAULT',
        message: expect.stringContaining('there is no token or credential'),
      }),
      expect.objectContaining({ state: 'WARNING', message: expect.stringContaining('ECONNREFUSED') }),
    ]);
    expect(JSON.stringify(findings)).toContain('workbench-hub upstream enroll unknown');
  });

  it('reports a missing hub', async () => {
    const config = hubConfigSchema.parse({ dataDir, server: { port: 0 } });
    expect(told(await doctor(config))).toEqual([
      `FAULT dataDir: ${dataDir} does not exist: no hub was ever started with this configuration`,
    ]);
  });

  it('misses nothing of a hub that was never started, to which a user was added', async () => {
    const config = hubConfigSchema.parse({ dataDir, store: 'sqlite', server: { port: 0 } });
    mkdirSync(dataDir, { mode: 0o700 });
    const accounts = await openAccountStore(config, systemRuntime);
    await accounts.close();
    const findings = await doctor(config);
    expect(told(findings)).toEqual([]);
    expect(findings).toContainEqual(
      expect.objectContaining({ check: 'database of tasks', message: expect.stringContaining('none yet') }),
    );
  });

  it('finds blobs that are missing, truncated or damaged, and the tasks that refer to them', async () => {
    let id = '';
    const config = await hubThatWasThere(async (api) => {
      id = await api.batchJob(large());
      await api.batchJob({ inputScripts: [{ content: base64('a small one') }] });
    });
    const path = contentFile();
    const content = readFileSync(path);
    const digest = path.slice(-64);
    const damaged = Buffer.from(content);
    damaged[5] = (damaged[5] ?? 0) ^ 1;
    writeFileSync(path, damaged);
    expect(told(await doctor(config))).toEqual([]);
    const wrong = `FAULT blobs: 1 blobs are missing or damaged: ${digest}`;
    expect(told(await doctor(config, true))).toEqual([`${wrong} is damaged (task ${id})`]);
    truncateSync(path, 50);
    expect(told(await doctor(config))).toEqual([`${wrong} has 50 bytes instead of 100000 (task ${id})`]);
    rmSync(path);
    expect(told(await doctor(config))).toEqual([`${wrong} is missing (task ${id})`]);
  });

  it('reads encrypted blobs if the key exists', async () => {
    const config = await hubThatWasThere(async (api) => {
      const form = new FormData();
      form.append('file', new Blob(['secret']), 'secret.wbpz');
      await api.call('POST', '/api/2.0/storage/input/upload?encrypt=true', { raw: form as never });
    });
    expect(told(await doctor(config, true))).toEqual([]);
    writeFileSync(join(dataDir, 'storage-key'), `${randomBytes(32).toString('base64')}\n`);
    expect(told(await doctor(config, true)).join()).toMatch(
      /blobs: 1 .* cannot be read: .*\.sealed was encrypted with another key/,
    );
    rmSync(join(dataDir, 'storage-key'));
    expect(told(await doctor(config, true))).toEqual(['WARNING storage key: there is none']);
  });

  it('finds databases that are damaged, missing, or of a newer hub', async () => {
    const config = await hubThatWasThere((api) => api.simulateWork());
    const database = join(dataDir, 'hub.sqlite');
    const whole = readFileSync(database);
    writeFileSync(database, whole.subarray(0, 20_480));
    expect(told(await doctor(config)).join()).toMatch(/^FAULT database of tasks: .*hub.sqlite/);
    const newer = Buffer.from(whole);
    newer.writeUInt32BE(99, 60);
    writeFileSync(database, newer);
    expect(told(await doctor(config)).join()).toContain('has schema version 99');
    rmSync(database);
    expect(told(await doctor(config)).join()).toContain('FAULT database of tasks');
  });

  it('finds keys that others can read, and remains of a restore', async () => {
    const config = await hubThatWasThere();
    chmodSync(join(dataDir, 'storage-key'), 0o644);
    mkdirSync(join(dataDir, 'replaced-2026-11-21T06-53-00Z'));
    const findings = told(await doctor(config)).join('\n');
    expect(findings).toContain(
      `FAULT keys: ${join(dataDir, 'storage-key')} can be read by other users (mode 644)`,
    );
    expect(findings).toContain('WARNING restore: ');
  });

  it('finds a nearly full disk, and a port that another program uses', async () => {
    const config = await hubThatWasThere();
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    const findings = told(
      await doctor({
        ...config,
        server: { ...config.server, port },
        health: { ...config.health, diskSpaceThreshold: Number.MAX_SAFE_INTEGER },
      }),
    );
    await new Promise((resolve) => other.close(resolve));
    expect(findings).toEqual([
      expect.stringMatching(/^FAULT disk space: only .* free$/),
      `FAULT hub: no hub runs on this dataDir, and none could listen on 127.0.0.1:${port}: another program has the port`,
    ]);
  });

  it('finds receivers of webhooks that may not be reached, and keys that are none', async () => {
    const config = await hubThatWasThere();
    const webhooks = { ...config.webhooks, notify: ['https://127.0.0.1/a', 'https://no-such.invalid/'] };
    const inside = '127.0.0.1 has only addresses in networks that are not public: 127.0.0.1';
    const unknown = expect.stringMatching(/^WARNING webhooks: the name no-such.invalid cannot be resolved/);
    expect(told(await doctor({ ...config, webhooks }))).toEqual([`FAULT webhooks: ${inside}`, unknown]);
    const permitted = { ...webhooks, privateNetworks: ['loopback'] };
    expect(told(await doctor({ ...config, webhooks: permitted }))).toEqual([unknown]);
    writeFileSync(join(dataDir, 'webhook-keys'), 'short\n', { mode: 0o600 });
    expect(told(await doctor({ ...config, webhooks: permitted }))[0]).toMatch(
      /must have one key of 32 bytes/,
    );
    const { faults } = await checkHost({ ...config, webhooks: permitted }, process.env, systemRuntime.clock);
    expect(faults).toEqual([expect.stringContaining('must have one key of 32 bytes')]);
  });

  it('finds keys of manifests that are none', async () => {
    const config = await hubThatWasThere();
    writeFileSync(join(dataDir, 'manifest-keys'), 'short\n', { mode: 0o600 });
    const words = expect.stringMatching(/manifest-keys must have one key of 32 bytes/);
    expect(told(await doctor(config))).toEqual([words]);
    expect((await checkHost(config, process.env, systemRuntime.clock)).faults).toEqual([words]);
  });

  it('finds an agent whose clock is wrong', async () => {
    hub = await startHub({ dataDir });
    const agent = await FakeAgent.join(hub, { clockMs: Date.now() - 3_600_000 });
    await agent.leave();
    await expect
      .poll(async () => told(await doctor(hub?.config as HubConfig)))
      .toEqual([
        expect.stringMatching(
          /^WARNING clocks of agents: that of agent-1 was 3\d{3} s behind when it last joined$/,
        ),
      ]);
  });

  it('exits with a code that shows whether it found a problem', async () => {
    await hubThatWasThere();
    const file = join(folder.path, 'hub.yaml');
    writeFileSync(file, JSON.stringify({ dataDir, server: { port: 0 } }));
    const run = (...words: string[]) =>
      runCommand('hub/bin/workbench-hub.js', ['--config', file, 'doctor', ...words], { cwd: folder.path });
    const sound = await run();
    expect(sound.code, sound.stdout).toBe(0);
    expect(sound.stdout).toContain('ok       database of tasks: whole');
    writeFileSync(file, JSON.stringify({ dataDir, server: { port: 'x' } }));
    const { code, stdout } = await run('--json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      findings: [{ check: 'configuration', state: 'FAULT', message: expect.stringContaining('server.port') }],
    });
  });
});
