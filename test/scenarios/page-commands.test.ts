/** The commands of security.md, operations.md, upgrading.md and calculix.md, run verbatim but for paths, addresses and passwords. */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { base64, restClient } from '../support/interface/rest-client.js';
import { codeBlock, replaced } from '../support/pages/code-blocks.js';
import { endPrograms, startAgent, startHub, startProgram } from '../support/programs/programs.js';
import { keepSecret } from '../support/secrets.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SECURITY = 'packages/docs/security.md';
const OPERATIONS = 'packages/docs/operations.md';
const PASSWORD = 'correct horse battery staple';
const PROGRAMS = {
  'workbench-hub': 'hub/bin/workbench-hub.js',
  'workbench-agent': 'agent/bin/workbench-agent.js',
};

let folder: TemporaryFolder;
const at = (name: string) => join(folder.path, name);

beforeEach(async () => {
  folder = await temporaryFolder();
  mkdirSync(at('bin'));
  command('systemctl', 'exit 0');
  for (const [name, script] of Object.entries(PROGRAMS))
    command(name, `exec "${process.execPath}" "${join(ROOT, script)}" "$@"`);
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

/** Puts a command into the PATH of the scripts. */
function command(name: string, script: string): void {
  writeFileSync(at(join('bin', name)), `#!/bin/sh\n${script}\n`);
  chmodSync(at(join('bin', name)), 0o755);
}

interface ScriptOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly cwd?: string;
}

/** Runs a script as if it were pasted into a shell; a command that fails ends it. */
async function shell(
  script: string,
  { env = {}, input = '', cwd = folder.path }: ScriptOptions = {},
): Promise<string> {
  const PATH = [at('bin'), process.env['PATH']].join(delimiter);
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    env: { ...process.env, PATH, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk));
  child.stdin.on('error', () => undefined).end(input);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  expect(code, `${script}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

/** Each command of a script alone, so that each reads its own standard input. */
async function eachLine(script: string, options: ScriptOptions): Promise<string[]> {
  const printed: string[] = [];
  for (const line of script.trim().split('\n')) printed.push(await shell(line, options));
  return printed;
}

/** A hub with TLS, security and the administrator anna, set up by the blocks of the page on security. */
async function securedHub() {
  await shell(codeBlock(SECURITY, 'CN=Workbench CA'));
  writeFileSync(
    at('hub.yaml'),
    replaced(codeBlock(SECURITY, '# /etc/workbench-hub/hub.yaml'), {
      '0.0.0.0': '127.0.0.1',
      '8443': '0',
      '/etc/workbench-hub': folder.path,
      '/var/lib/workbench-hub': at('data'),
    }),
  );
  const commands = replaced(codeBlock(SECURITY, '--check-config'), { '/etc/workbench-hub': folder.path });
  const [check = '', add = '', start = ''] = commands.trim().split('\n');
  expect(await shell(check)).toContain('The configuration is valid.');
  await shell(add, { input: `${PASSWORD}\n` });
  expect(start).toBe(`workbench-hub --config ${at('hub.yaml')}`);
  const hub = startProgram(PROGRAMS['workbench-hub'], start.split(' ').slice(1), folder.path);
  const address = String((await hub.logged((line) => typeof line['address'] === 'string'))['address']);
  return { hub, address };
}

const tokenIn = (json: string, field: string): string => {
  const token = (JSON.parse(json) as Record<string, unknown>)[field];
  if (typeof token !== 'string') throw new Error(`no ${field} in ${json}`);
  keepSecret(token);
  return token;
};

describe('the commands of security.md', () => {
  it('lead to a secured hub with users, sessions, tokens and an audit log', async () => {
    keepSecret(PASSWORD);
    const { address } = await securedHub();
    const login = { 'https://hub.example.com:8443': address, '…': PASSWORD };
    const client = replaced(codeBlock(SECURITY, '$HUB/api/2.0/user'), login);
    expect(JSON.parse(await shell(client))).toMatchObject({ username: 'anna' });

    const users = await eachLine(codeBlock(SECURITY, 'user add nora'), { input: `${PASSWORD}\n` });
    expect(users.at(-1)).toMatch(/^anna +ADMIN/m);
    expect(users.at(-1)).not.toContain('nora');

    const env = { HUB: address, CURL_CA_BUNDLE: at('ca.pem') };
    const session = replaced(codeBlock(SECURITY, 'auth/refresh'), { '…': PASSWORD });
    const [first = '', second = '', third] = await eachLine(session, { env });
    expect(tokenIn(second, 'accessToken')).not.toBe(tokenIn(first, 'accessToken'));
    expect(third).toBe('');
    expect(await shell(codeBlock(SECURITY, 'keys rotate'))).toBeTypeOf('string');

    const nightly = replaced(codeBlock(SECURITY, '"nightly build"'), {
      'https://hub.example.org': address,
      '…': PASSWORD,
    });
    const token = tokenIn(await shell(nightly, { env }), 'token');
    const list = replaced(codeBlock(SECURITY, 'Bearer wbh_…'), { 'wbh_…': token });
    expect(JSON.parse(await shell(list, { env }))).toMatchObject({ content: [] });

    const ACCESS = (await shell(`${client.split('\n').slice(0, 3).join('\n')}\nprintf %s "$ACCESS"`)).trim();
    keepSecret(ACCESS);
    const [latest = '', refused = ''] = await eachLine(codeBlock(SECURITY, 'api/x/audit?limit=20'), {
      env: { ...env, ACCESS },
    });
    expect((JSON.parse(latest) as { entries: unknown[] }).entries).not.toEqual([]);
    expect(JSON.parse(refused)).toHaveProperty('entries');
    keepSecret((await shell(codeBlock(SECURITY, 'token add anna'))).trim());
    for (const block of ['token add anna', '"name": "prometheus"']) {
      await shell(codeBlock(OPERATIONS, block), { env: { ...env, TOKEN: ACCESS } });
      const forMetrics = readFileSync(at('workbench-hub-token'), 'utf8').trim();
      keepSecret(forMetrics);
      expect(forMetrics).toMatch(/^wbh_/);
    }
  });

  it('enroll, examine, drain and revoke an agent, whose certificate an authority signs', async () => {
    const { address } = await securedHub();
    await shell(codeBlock(SECURITY, 'CN=sim-host-1'));
    expect(await shell('openssl verify -CAfile ca.pem agent.pem')).toBe('agent.pem: OK\n');
    const codes = await eachLine(codeBlock(SECURITY, 'agent enroll sim-host-1 --valid'), {});
    for (const code of codes) keepSecret(code.trim());
    const agent = {
      id: 'sim-host-1',
      hub: address.replace('https', 'wss'),
      tls: { ca: at('ca.pem') },
      dataDir: at('agent'),
      instances: [{ id: 'sim', version: '9.1.0' }],
    };
    writeFileSync(at('agent.yaml'), JSON.stringify(agent));
    expect(await shell(codeBlock(SECURITY, 'workbench-agent enroll'), { input: codes[1] ?? '' })).toContain(
      'Agent sim-host-1 is enrolled',
    );
    expect(await shell(codeBlock(OPERATIONS, 'workbench-agent doctor'))).toMatch(
      /^ok {7}credential: accepted for sim-host-1$/m,
    );
    await shell(codeBlock(OPERATIONS, 'workbench-hub agent drain'));
    await shell(codeBlock(OPERATIONS, 'workbench-hub agent undrain'));
    const [list = ''] = await eachLine(codeBlock(SECURITY, 'agent revoke'), {});
    expect(list).toMatch(/^sim-host-1 +/m);
    await expect(shell(codeBlock(OPERATIONS, 'workbench-agent doctor'))).rejects.toThrow(
      'FAULT    credential',
    );
  });
});

describe('the commands of operations.md', () => {
  it('examine a hub, back it up and restore it', async () => {
    const hub = await startHub(folder.path);
    expect(await shell(codeBlock(OPERATIONS, 'workbench-hub doctor'))).toMatch(/^ok {7}hub: a hub runs on/m);
    mkdirSync(at('backup'));
    const backup = codeBlock(OPERATIONS, 'workbench-hub backup');
    expect(await shell(replaced(backup, { '/backup': at('backup') }))).toContain('holds the hub');
    const [name = ''] = readdirSync(at('backup'));
    await hub.stop();
    renameSync(at('hub'), at('lost'));
    const restore = replaced(codeBlock(OPERATIONS, 'workbench-hub restore'), {
      '/backup/hub-2026-11-21.tar': at(join('backup', name)),
    });
    expect(await shell(restore)).toContain('is in the state of');
    expect(existsSync(at('hub/hub.sqlite'))).toBe(true);
  });

  it('follow a request through both logs', async () => {
    // Successful steps are in the logs with this level only, as the page says.
    const log = { level: 'debug' };
    const hub = await startHub(folder.path, { log });
    const agent = startAgent(folder.path, hub, 'host', {
      log,
      instances: [{ id: 'sim', version: '9.1.0' }],
    });
    await agent.logged(({ msg }) => /joined/.test(String(msg)));
    const url = `${hub.baseUrl}/api/2.0/workbench/task/execute-batch-job`;
    const created = await fetch(`${url}/create`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': 'build-4711' },
      body: JSON.stringify({ inputScripts: [{ content: base64('println(1)') }] }),
    });
    const { id } = (await created.json()) as { id: string };
    expect(await restClient(hub.baseUrl).batchJobResult(id)).toMatchObject({ status: 'FINISHED' });
    const search = replaced(codeBlock(OPERATIONS, '"requestId":"build-4711"'), {
      '/var/lib/workbench-hub': at('hub'),
      '/var/lib/workbench-agent': at('host'),
    });
    for (const found of await eachLine(search, {})) expect(found).toContain(id);
  });
});

it('the commands of upgrading.md and calculix.md are requests that a hub accepts', async () => {
  const hub = await startHub(folder.path);
  const local = { 'http://127.0.0.1:8080': hub.baseUrl };
  const beam = replaced(codeBlock('packages/docs/calculix.md', '"cantilever beam"'), local);
  const created = await shell(beam, { cwd: join(ROOT, 'packages/docs') });
  expect(JSON.parse(created)).toMatchObject({ status: 'WAITING' });
  await shell(replaced(codeBlock('packages/docs/upgrading.md', 'prepare-shutdown/change'), local).trim());
  const again = await shell(beam, { cwd: join(ROOT, 'packages/docs') });
  expect(JSON.parse(again)).toMatchObject({ status: 423 });
});
