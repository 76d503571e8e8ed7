/** Webhooks between real processes: the hub is killed between end and delivery, and receivers are those of webhooks.md. */
import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import { WebhookReceiver } from '../support/hubs/webhook-receiver.js';
import { codeBlock, replaced } from '../support/pages/code-blocks.js';
import {
  endPrograms,
  type HubProgram,
  type Program,
  startCommand,
  startHub,
} from '../support/programs/programs.js';
import { runCommand } from '../support/programs/run-command.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const PAGE = 'packages/docs/webhooks.md';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PYTHON = '/usr/bin/python3';
const hasPython = process.env['CI'] !== undefined || spawnSync(PYTHON, ['--version']).status === 0;
if (!hasPython) console.warn('LEFT OUT, the receiver in Python: there is no /usr/bin/python3');

let folder: TemporaryFolder;
let hub: HubProgram;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

async function start(origin: string): Promise<void> {
  const instances = [{ id: 'sim', version: '1', count: 2 }];
  const webhooks = { notify: [origin], allowHttp: true, privateNetworks: ['loopback'], timeout: '500ms' };
  hub = await startHub(folder.path, { instances, webhooks });
}

async function call(method: string, path: string, json?: object): Promise<{ status: number; body: unknown }> {
  const response = await fetch(hub.baseUrl + path, {
    method,
    ...(json ? { body: JSON.stringify(json) } : {}),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

async function created(notify: string): Promise<string> {
  const { status, body } = await call('POST', '/api/x/tasks', { type: 'SIMULATE_WORK', duration: 0, notify });
  expect(status, JSON.stringify(body)).toBe(201);
  return (body as { id: string }).id;
}

async function detailsOf(id: string): Promise<{ status: string; webhooks?: { state: string }[] }> {
  return (await call('GET', `/api/x/tasks/${id}`)).body as { status: string; webhooks?: { state: string }[] };
}

describe('a hub that is killed', () => {
  it('after the ends of tasks and before their webhooks sends all of them after its start', async () => {
    const receiver = await WebhookReceiver.listen();
    onTestFinished(() => receiver.close());
    await start(receiver.origin);
    // It takes no webhook before the kill.
    receiver.respond = () => undefined;
    const ids = await Promise.all(Array.from({ length: 30 }, () => created(receiver.origin)));
    for (const id of ids) await eventually(async () => (await detailsOf(id)).status === 'FINISHED', 30_000);
    await eventually(() => receiver.received.length > 0);
    await hub.kill();
    const before = receiver.received.length;
    expect(before).toBeLessThanOrEqual(8);
    receiver.respond = (response, { headers }) => {
      expect(headers['webhook-signature']).toMatch(/^v1,/);
      response.writeHead(204).end();
    };
    await start(receiver.origin);
    for (const id of ids) {
      const heard = await receiver.hear(id, 1, 60_000);
      expect(heard[0]?.task).toMatchObject({ id, status: 'FINISHED' });
      await eventually(async () => (await detailsOf(id)).webhooks?.[0]?.state === 'DELIVERED', 60_000);
    }
  });

  it('after the stop of a study and before its webhook sends it after its start', async () => {
    const receiver = await WebhookReceiver.listen();
    onTestFinished(() => receiver.close());
    await start(receiver.origin);
    // It takes no webhook before the kill.
    receiver.respond = () => undefined;
    const { status, body } = await call('POST', '/api/x/studies', {
      ...{ name: 'bearing', inputScripts: [{ content: '' }], variables: [{ name: 'speed' }] },
      ...{ plan: { kind: 'OPEN' }, notify: receiver.origin },
    });
    expect(status, JSON.stringify(body)).toBe(201);
    const { id } = body as { id: string };
    expect((await call('POST', `/api/x/studies/${id}/stop`)).status).toBe(200);
    await hub.kill();
    receiver.respond = (response) => response.writeHead(204).end();
    const before = receiver.received.length;
    await start(receiver.origin);
    const heard = await receiver.hear(id, before + 1, 60_000);
    expect(heard[0]?.task).toMatchObject({ id, state: 'STOPPED' });
    expect(new Set(heard.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([`${id}.1.notify`]));
  });

  it('while it works, again and again, tells of each end', async () => {
    const receiver = await WebhookReceiver.listen();
    onTestFinished(() => receiver.close());
    await start(receiver.origin);
    const ids: string[] = [];
    for (let kill = 0; kill < 4; kill++) {
      ids.push(...(await Promise.all(Array.from({ length: 25 }, () => created(receiver.origin)))));
      const before = receiver.received.length;
      await eventually(() => receiver.received.length > before + 3, 60_000);
      await hub.kill();
      await start(receiver.origin);
    }
    for (const id of ids) await receiver.hear(id, 1, 60_000);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(ids.length);
  }, 240_000);
});

describe('a receiver of the page', () => {
  const environment = (secret: string) => ({
    WEBHOOK_SECRET: secret,
    PYTHONPATH: join(ROOT, 'packages/client-python'),
    PYTHONDONTWRITEBYTECODE: '1',
  });

  /** The output of the command of the page, which names another address. */
  async function secretFor(origin: string): Promise<string> {
    const [, args = ''] = /npx workbench-hub (.*)/.exec(codeBlock(PAGE, 'webhook secret')) ?? [];
    const words = replaced(args.trim(), { 'https://ci.example.org': origin }).split(' ');
    const { code, stdout, stderr } = await runCommand('hub/bin/workbench-hub.js', words, {
      cwd: folder.path,
    });
    expect(code, stderr).toBe(0);
    return stdout.trim();
  }

  async function tell(words: string, file: string, command: string): Promise<void> {
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    await start(origin);
    symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'));
    const source = codeBlock(PAGE, words);
    expect(source).toContain(file);
    writeFileSync(join(folder.path, file), replaced(source, { 9000: String(port) }));
    const run = (secret: string): Program => startCommand([command, file], folder.path, environment(secret));
    const program = run(await secretFor(origin));
    await eventually(() => isListening(port), 30_000);
    const id = await submitByPage(origin);
    await eventually(() => program.printed.includes(`${id}: FINISHED`), 30_000);
    // Somebody else, who does not know the secret, and a body that was changed on its way.
    const forged = { 'webhook-id': 'x', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) };
    const { status } = await fetch(origin, {
      method: 'POST',
      headers: { ...forged, 'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}` },
      body: '{}',
    });
    expect(status).toBe(401);
    await program.stop();
    const other = run(await secretFor('http://127.0.0.1:1'));
    await eventually(() => isListening(port), 30_000);
    const refused = await submitByPage(origin);
    await eventually(async () => {
      const [webhook] = (await detailsOf(refused)).webhooks ?? [];
      return (webhook as { fault?: string } | undefined)?.fault === 'responded with 401';
    });
    expect(other.printed.filter((line) => line.startsWith(refused))).toEqual([]);
    await other.stop();
  }

  /** The command of the page, with another address. */
  async function submitByPage(origin: string): Promise<string> {
    writeFileSync(join(folder.path, 'job.js'), '1;');
    const command = replaced(codeBlock(PAGE, 'wb submit'), { 'https://ci.example.org': origin });
    const words = command.trim().split(' ').slice(1);
    const wb = [process.execPath, join(ROOT, 'packages/cli/bin/wb.js'), ...words];
    const program = startCommand(wb, folder.path, { WB_URL: hub.baseUrl, HOME: folder.path });
    expect(await program.ended, program.printed.join('\n')).toBe(0);
    return program.printed[0] ?? '';
  }

  it(
    'in JavaScript verifies webhooks',
    () => tell('createServer', 'receiver.mjs', process.execPath),
    120_000,
  );

  it.skipIf(!hasPython)(
    'in Python verifies webhooks',
    () => tell('BaseHTTPRequestHandler', 'receiver.py', PYTHON),
    120_000,
  );
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function isListening(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}`).then(
    () => true,
    () => false,
  );
}
