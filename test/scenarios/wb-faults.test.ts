/** The command line `wb` in a world where hubs restart, transfers break, disks fill up and tokens end. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { eventually } from '../support/eventually.js';
import { authority } from '../support/hubs/certificates.js';
import { restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { runCommand } from '../support/programs/run-command.js';
import { callWb, endCalls, type WbOptions } from '../support/programs/wb.js';
import { CuttingProxy, startConnectProxy } from '../support/proxies/proxies.js';
import { keepSecret } from '../support/secrets.js';
import { hasSmallDisks, mountSmallDisk } from '../support/stores/small-disk.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

vi.setConfig({ testTimeout: 180_000 });

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MIB = 1024 ** 2;
const INSTANCES = [{ id: 'sim', version: '9.1.0', count: 2 }];
const PASSWORD = 'correct horse battery staple';
const EXIT = { FAILED: 1, USAGE: 2, CANCELED: 3, UNREACHABLE: 4, NOT_ALLOWED: 5, INTERRUPTED: 130 };

let folder: TemporaryFolder;
let unmount: () => void = () => undefined;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  endCalls();
  await endPrograms();
  unmount();
  unmount = () => undefined;
  await folder.remove();
});

const call = (url: string | undefined, args: readonly string[], options?: WbOptions) =>
  callWb(folder.path, url, args, options);
const wb = (url: string | undefined, args: readonly string[], options?: WbOptions) =>
  call(url, args, options).outcome;

async function startedHub(config: Record<string, unknown> = {}, port = 0): Promise<HubProgram> {
  const hub = await startHub(folder.path, { instances: INSTANCES, ...config }, port);
  await hub.logged(({ msg }) => String(msg).startsWith('up: '));
  return hub;
}

const portOf = ({ baseUrl }: HubProgram) => Number(new URL(baseUrl).port);

function write(name: string, content: string): string {
  writeFileSync(join(folder.path, name), content);
  return name;
}

/** A script that prints, and ends when the file `go` exists. */
const waits = () =>
  write(
    'waits.js',
    `console.log('it began');
     const look = setInterval(() => { if (require('node:fs').existsSync(${JSON.stringify(join(folder.path, 'go'))})) clearInterval(look); }, 20);`,
  );

/** A server in place of a hub. */
async function serve(handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a hub that is killed', () => {
  it('leaves those who wait, follow a log or follow events where they were', async () => {
    const hub = await startedHub();
    const id = (await wb(hub.baseUrl, ['submit', '--script', waits()])).stdout.trim();
    const waiting = call(hub.baseUrl, ['wait', id, '--json']);
    const following = call(hub.baseUrl, ['log', '--follow', '--json', id]);
    const events = call(hub.baseUrl, ['events', '--since', '', '--json']);
    let told = '';
    events.child.stdout?.on('data', (chunk: Buffer) => {
      told += chunk.toString();
    });
    await eventually(() => waiting.told().includes('it began') && told.includes('hello'), 60_000);
    await hub.kill();
    writeFileSync(join(folder.path, 'go'), '');
    const again = await startedHub({}, portOf(hub));
    const [waited, followed] = await Promise.all([waiting.outcome, following.outcome]);
    expect([waited.code, JSON.parse(waited.stdout)]).toMatchObject([0, { status: 'FINISHED' }]);
    expect(followed.stdout.trim().split('\n').at(-1)).toBe('{"type":"end","status":"FINISHED"}');
    await eventually(() => told.includes('"status":"FINISHED"'));
    events.child.kill('SIGINT');
    const left = await events.outcome;
    expect(left.code).toBe(EXIT.INTERRUPTED);
    const [, cursor = ''] = /Continue with: wb events --since (\S+)/.exec(left.stderr) ?? [];
    // Nothing was missed: the next listener hears of the next task only.
    const next = call(again.baseUrl, ['events', '--since', cursor, '--json']);
    let heard = '';
    next.child.stdout?.on('data', (chunk: Buffer) => {
      heard += chunk.toString();
    });
    const other = await restClient(again.baseUrl).createSimulateWork({ duration: 0 });
    await eventually(() => heard.includes(other), 60_000);
    expect(heard).not.toContain(id);
    expect(heard).not.toContain('reset');
  });

  it('is continued after what a stream has reached without a change that matches', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('id: h.1\nevent: hello\ndata: {"cursor":"h.1"}\n\n: alive\nid: h.9\n\n');
    });
    const events = call(url, ['events', '--json']);
    let heard = '';
    events.child.stdout?.on('data', (chunk: Buffer) => {
      heard += chunk.toString();
    });
    await eventually(() => heard.includes('hello'), 60_000);
    events.child.kill('SIGINT');
    expect((await events.outcome).stderr).toContain('Continue with: wb events --since h.9');
  });

  it('is waited for by each command', async () => {
    const hub = await startedHub({ storage: { input: { enabled: true } } });
    const script = write('quick.js', "require('node:fs').writeFileSync('a.txt', '1')");
    const ran = await wb(hub.baseUrl, ['run', '--script', script, '--json', '--quiet']);
    const { id } = JSON.parse(ran.stdout) as { id: string };
    await hub.kill();
    const commands = [
      ['tasks', '--json'],
      ['result', id, '--out', 'results'],
      ['wait', id],
      ['submit', '--script', script],
      ['cancel', '--status', 'waiting', '--yes'],
      ['storage', 'put', script, 'quick'],
      ['explain', id],
    ];
    const calls = commands.map((args) => ({ args, outcome: wb(hub.baseUrl, args) }));
    await startedHub({ storage: { input: { enabled: true } } }, portOf(hub));
    for (const { args, outcome } of calls) expect([args, await outcome]).toMatchObject([args, { code: 0 }]);
    expect(readFileSync(join(folder.path, 'results/a.txt'), 'utf8')).toBe('1');
  });
});

describe('a transfer', () => {
  const SIZE = 20 * MIB;
  const large = () =>
    write(
      'large.js',
      `const block = require('node:crypto').createHash('sha512').update('seed').digest();
       require('node:fs').writeFileSync('large.bin', Buffer.alloc(${SIZE}, block));`,
    );

  it('that is cut five times goes on where it was, and its file is right', async () => {
    const hub = await startedHub();
    const ran = await wb(hub.baseUrl, ['run', '--script', large(), '--json', '--quiet']);
    const { id, outputs } = JSON.parse(ran.stdout) as { id: string; outputs: { digest: string }[] };
    const proxy = await CuttingProxy.listen(portOf(hub), 3 * MIB, 5);
    onTestFinished(() => proxy.close());
    const outcome = await wb(proxy.url, ['result', id, '--out', 'results']);
    expect(outcome).toMatchObject({ code: 0 });
    expect(proxy.cuts).toBe(5);
    const saved = readFileSync(join(folder.path, 'results/large.bin'));
    expect(createHash('sha256').update(saved).digest('hex')).toBe(outputs[0]?.digest);
    // Besides the file, responses to other requests have a few bytes.
    expect(proxy.bytes).toBeLessThan(SIZE * 1.05);
    expect(readdirSync(join(folder.path, 'results'))).toEqual(['large.bin']);
  });

  it.skipIf(!hasSmallDisks())(
    'onto a full disk leaves nothing, and the outputs can be had later',
    async () => {
      const hub = await startedHub();
      unmount = mountSmallDisk(join(folder.path, 'small'), 4);
      const ran = await wb(hub.baseUrl, ['run', '--script', large(), '--out', 'small/out']);
      expect(ran).toMatchObject({ code: EXIT.FAILED, stderr: expect.stringContaining('ENOSPC') });
      expect(readdirSync(join(folder.path, 'small/out'))).toEqual([]);
      const [, id = ''] = /Attach again with: wb wait (\S+)/.exec(ran.stderr) ?? [];
      expect(await wb(hub.baseUrl, ['wait', id, '--out', 'elsewhere'])).toMatchObject({ code: 0 });
      expect(existsSync(join(folder.path, 'elsewhere/large.bin'))).toBe(true);
    },
  );

  it('of an output whose name leads out of the folder is refused, and nothing is written', async () => {
    const task = { id: 't', status: 'FINISHED', endedAt: 'x', attempts: [], inputs: [], variables: [] };
    const url = await serve(({ url: path }, response) => {
      response.setHeader('content-type', 'application/json');
      const files = [
        { path: 'fine.txt', size: 1, digest: '' },
        { path: '../evil.txt', size: 1, digest: '' },
      ];
      response.end(JSON.stringify(path?.endsWith('/outputs') ? { files } : task));
    });
    const outcome = await wb(url, ['result', 't', '--out', 'results']);
    expect(outcome).toMatchObject({
      code: EXIT.USAGE,
      stderr: expect.stringContaining('leads out of the folder'),
    });
    expect(existsSync(join(folder.path, 'evil.txt')) || existsSync(join(folder.path, 'results'))).toBe(false);
  });
});

describe('Ctrl-C', () => {
  it('twice ends wb at once, even while the hub does not respond', async () => {
    const hub = await startedHub();
    const started = call(hub.baseUrl, ['run', '--script', waits(), '--cancel-on-interrupt']);
    await eventually(() => started.told().includes('it began'), 60_000);
    hub.process.kill('SIGSTOP');
    try {
      started.child.kill('SIGINT');
      // It tries to cancel the task, which takes as long as the hub does not respond.
      const isCanceling = await Promise.race([
        started.outcome.then(() => false),
        new Promise((resolve) => setTimeout(resolve, 500, true)),
      ]);
      started.child.kill('SIGINT');
      expect((await started.outcome).code).toBe(EXIT.INTERRUPTED);
      expect(isCanceling).toBe(true);
    } finally {
      hub.process.kill('SIGCONT');
    }
  });
});

describe('many ids', () => {
  it('are read from standard input: 10,000, of which some are no tasks', async () => {
    const hub = await startedHub();
    const client = restClient(hub.baseUrl);
    const ids = await Promise.all(
      Array.from({ length: 100 }, () => client.createSimulateWork({ duration: 0 })),
    );
    await eventually(async () => {
      const { total } = (await client.call('/api/x/tasks?status=FINISHED')).json() as { total: number };
      return total === 100;
    });
    const all = Array.from({ length: 10_000 }, (_, at) => (at % 100 === 0 ? ids[at / 100] : `none-${at}`));
    const outcome = await wb(hub.baseUrl, ['delete'], { stdin: all.join('\n') });
    expect(outcome.code).toBe(EXIT.FAILED);
    expect(outcome.stdout.trim().split('\n')).toEqual(ids);
    expect(outcome.stderr.trim().split('\n')).toHaveLength(9900);
  });

  it('are given up when the hub is away, instead of each of them', async () => {
    const ids = Array.from({ length: 10_000 }, (_, at) => `none-${at}`).join('\n');
    const outcome = await wb('http://127.0.0.1:9', ['cancel'], { stdin: ids });
    expect(outcome).toMatchObject({ code: EXIT.UNREACHABLE, stdout: '' });
    expect(outcome.stderr.trim().split('\n')).toHaveLength(1);
  });
});

describe('without a terminal', () => {
  it('nothing is asked: wb says what to give instead', async () => {
    const hub = await startedHub();
    await restClient(hub.baseUrl).createSimulateWork({ duration: 60 });
    await restClient(hub.baseUrl).createSimulateWork({ duration: 60, version: 'none' } as never);
    const asked = await wb(hub.baseUrl, ['cancel', '--all', '--force']);
    expect(asked).toMatchObject({
      code: EXIT.USAGE,
      stderr: expect.stringMatching(/would be canceled: give --yes/),
    });
    const listed = await restClient(hub.baseUrl).call('/api/x/tasks?status=CANCELED');
    expect(listed.json()).toMatchObject({ total: 0 });
  });
});

describe('a token', () => {
  async function securedHub(
    security: object = {},
  ): Promise<{ hub: HubProgram; token: string; revoke: () => Promise<void> }> {
    keepSecret(PASSWORD);
    const hub = await startedHub({ security: { enabled: true, ...security } });
    const added = await runCommand(
      'hub/bin/workbench-hub.js',
      ['user', 'add', 'anna', '--role', 'ADMIN', '--config', 'hub.yaml'],
      { cwd: folder.path, input: `${PASSWORD}\n` },
    );
    expect(added.code, added.stderr).toBe(0);
    const login = ['login', hub.baseUrl, '--username', 'anna', '--password-stdin'];
    expect(await wb(undefined, login, { stdin: `${PASSWORD}\n` })).toMatchObject({ code: 0 });
    const { profiles } = JSON.parse(readFileSync(join(folder.path, 'profiles.json'), 'utf8')) as {
      profiles: Record<string, { token: string; tokenId: string }>;
    };
    const [profile] = Object.values(profiles);
    const token = profile?.token ?? '';
    const revoke = async () => {
      const response = await fetch(`${hub.baseUrl}/api/x/tokens/${profile?.tokenId}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${token}` },
      });
      expect(response.status).toBe(204);
    };
    return { hub, token, revoke };
  }

  it('that ends during a wait ends wb with the code for it; the task goes on', async () => {
    const { revoke } = await securedHub();
    const waiting = call(undefined, ['run', '--script', waits()]);
    await eventually(() => waiting.told().includes('it began'), 60_000);
    await revoke();
    const outcome = await waiting.outcome;
    expect(outcome.code).toBe(EXIT.NOT_ALLOWED);
    expect(outcome.stderr).toMatch(/Attach again with: wb wait \S+\nwb: .*Log in with: wb login/);
  });

  it('of a session that expires again and again during a wait is renewed by the client', async () => {
    const { hub } = await securedHub({ accessTokenLifetime: '1s' });
    symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'));
    const program = `
      import { Hub, PasswordSession } from '@workbench-hub/client';
      const hub = new Hub({ url: '${hub.baseUrl}', credentials: new PasswordSession('anna', '${PASSWORD}') });
      const job = { scripts: ["console.log('begun'); setTimeout(() => console.log('done'), 4000)"] };
      const { status } = await hub.run(job, { onOutput: (text) => process.stdout.write(text) });
      console.log(status);
    `;
    const { code, stdout, stderr } = await new Promise<{ code: number; stdout: string; stderr: string }>(
      (resolve) => {
        write('wait.mjs', program);
        execFile(process.execPath, ['wait.mjs'], { cwd: folder.path }, (error, out, err) =>
          resolve({ code: Number(error?.code ?? 0), stdout: out, stderr: err }),
        );
      },
    );
    expect([code, stdout, stderr]).toEqual([0, 'begun\ndone\nFINISHED\n', '']);
  });
});

describe('a proxy', () => {
  it('of HTTPS_PROXY leads to a hub with a private authority', async () => {
    const ca = await authority(folder.path, 'company');
    const tls = await ca.issue({ name: 'hub', hosts: ['127.0.0.1'] });
    const hub = await startedHub({ server: { port: 0, tls } });
    const proxy = await startConnectProxy();
    onTestFinished(() => proxy.close());
    const env = { HTTPS_PROXY: proxy.url, WB_CA_FILE: ca.file };
    const ran = await wb(hub.baseUrl, ['run', '--script', write('quick.js', '1')], { env });
    expect(ran).toMatchObject({ code: 0 });
    expect(new Set(proxy.tunnels)).toEqual(new Set([new URL(hub.baseUrl).host]));
    const tunnels = proxy.tunnels.length;
    expect(await wb(hub.baseUrl, ['health'], { env: { ...env, NO_PROXY: '127.0.0.1' } })).toMatchObject({
      code: 0,
    });
    expect(proxy.tunnels).toHaveLength(tunnels);
    const stranger = await wb(hub.baseUrl, ['health'], { env: { HTTPS_PROXY: proxy.url } });
    expect(stranger).toMatchObject({
      code: EXIT.UNREACHABLE,
      stderr: expect.stringMatching(/certificate|issuer/),
    });
  });
});

describe('another server', () => {
  it.each([200, 404])('that responds with a page and %i is told from a hub', async (status) => {
    const url = await serve((_, response) => response.writeHead(status).end('<html>'));
    const outcome = await wb(url, ['tasks']);
    expect(outcome).toMatchObject({
      code: EXIT.UNREACHABLE,
      stderr: expect.stringContaining('is it a Workbench Hub?'),
    });
  });

  it('that is an older hub is told as one', async () => {
    const url = await serve((_, response) =>
      response
        .writeHead(404, { 'content-type': 'application/json', 'x-error-code': 'UNKNOWN_PATH' })
        .end(JSON.stringify({ status: 404, message: 'there is nothing at this path' })),
    );
    const outcome = await wb(url, ['tasks']);
    expect(outcome).toMatchObject({ code: EXIT.FAILED, stderr: expect.stringContaining('older') });
  });
});
