/** SIGHUP to hub and agent, as logrotate and systemd send it. */
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { TlsFiles } from '@workbench-hub/shared/hub-link/tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { authority } from '../support/hubs/certificates.js';
import {
  endPrograms,
  type HubProgram,
  type LogLine,
  type Program,
  startAgent,
  startHub,
  startProgram,
} from '../support/programs/programs.js';
import { runCommand } from '../support/programs/run-command.js';
import { keepSecret } from '../support/secrets.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const LOGROTATE = '/usr/sbin/logrotate';
const CONFFILE = new URL('../../deploy/debian/hub/etc/logrotate.d/workbench-hub', import.meta.url);
/** Under CI, which installs it, a missing logrotate fails. */
const isLogrotateMissing = !existsSync(LOGROTATE) && process.env['CI'] === undefined;
const logrotateTitle = isLogrotateMissing
  ? 'logrotate: SKIPPED, it is not installed (apt-get install logrotate)'
  : 'logrotate';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

const at = (...names: string[]) => join(folder.path, ...names);

/** Adds to a configuration file, as an operator does. */
function change(file: string, added: object): void {
  writeFileSync(at(file), JSON.stringify({ ...JSON.parse(readFileSync(at(file), 'utf8')), ...added }));
}

/** Sends SIGHUP; resolves with the lines that the reload logged. */
async function reload(program: Program): Promise<readonly LogLine[]> {
  const before = program.lines.length;
  program.process.kill('SIGHUP');
  await eventually(() => program.lines.slice(before).some(({ msg }) => msg === 'reloaded'));
  // The warning about the restart follows in the same turn.
  return program.lines.slice(before);
}

const messages = (lines: readonly LogLine[]) => lines.map(({ msg }) => msg);
const doneBy = (lines: readonly LogLine[]) =>
  lines.find(({ msg }) => msg === 'reloaded')?.['done'] as readonly string[];
const linesOf = (...names: string[]) =>
  readFileSync(at(...names), 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogLine);

const INSTANCES = [{ id: 'own', version: '1', count: 4 }];

/** Runs tasks, each with a few lines in the log of a hub on level debug; resolves with their ids. */
function runTasks({ baseUrl }: HubProgram, count: number): Promise<string[]> {
  const base = `${baseUrl}/api/2.0/workbench/task/simulate-work`;
  const headers = { 'content-type': 'application/json' };
  const run = async () => {
    const created = await fetch(`${base}/create`, { method: 'POST', headers, body: '{"duration":0}' });
    const { id } = (await created.json()) as { id: string };
    const ended = await fetch(`${base}/${id}/result?timeout=30`);
    expect(await ended.json()).toMatchObject({ status: 'FINISHED' });
    return id;
  };
  return Promise.all(Array.from({ length: count }, run));
}

describe('a hub that gets SIGHUP', () => {
  it('opens its log file again, takes the log level, and says what needs a restart', async () => {
    const hub = await startHub(folder.path, { instances: INSTANCES });
    renameSync(at('hub', 'logs', 'hub.log'), at('hub', 'logs', 'hub.log.1'));
    change('hub.yaml', { log: { level: 'debug' }, limits: { requests: 7 }, tasks: { maxAttempts: 9 } });
    await reload(hub);
    await eventually(() => linesOf('hub', 'logs', 'hub.log').some(({ msg }) => msg === 'reloaded'));
    const warning = await hub.logged(({ keys }) => keys !== undefined);
    expect(warning).toMatchObject({
      level: 40,
      keys: ['tasks.maxAttempts', 'limits.requests'],
      msg: 'these changes of the configuration take effect at the next start',
    });
    expect(messages(linesOf('hub', 'logs', 'hub.log.1'))).not.toContain('reloaded');
    await runTasks(hub, 1);
    await hub.logged(({ msg }) => msg === 'task ended');
    const shown = await (await fetch(`${hub.baseUrl}/actuator/logfile?tail=1000`)).text();
    expect(shown).toContain('"reloaded"');
    expect(shown).not.toContain('the hub listens');
  });

  it('keeps a configuration and a log file that work', async () => {
    const hub = await startHub(folder.path);
    const valid = readFileSync(at('hub.yaml'), 'utf8');
    writeFileSync(at('hub.yaml'), `${valid.slice(0, -1)}, "tasks": { "maxAttempts": 0 } }`);
    const broken = await reload(hub);
    expect(messages(broken).join('\n')).toContain(
      `the former configuration stays in use: ${at('hub.yaml')}: tasks.maxAttempts`,
    );
    expect(doneBy(broken)).toHaveLength(1);
    writeFileSync(at('hub.yaml'), valid);
    change('hub.yaml', { log: { file: '/dev/null/hub.log' } });
    expect(messages(await reload(hub)).join('\n')).toContain(
      'the former log file stays in use: the log file /dev/null/hub.log cannot be written (',
    );
    // The log file is written by a thread of its own.
    const reloads = () => linesOf('hub', 'logs', 'hub.log').filter(({ msg }) => msg === 'reloaded');
    await eventually(() => reloads().length >= 2);
    expect(reloads()).toHaveLength(2);
    expect(await hub.stop()).toBe(0);
  });

  it('uses a renewed certificate at once, or keeps the former one', async () => {
    const ca = await authority(folder.path, 'company');
    const [first, second, third] = [
      await ca.issue({ name: 'first', hosts: ['127.0.0.1'] }),
      await ca.issue({ name: 'second', hosts: ['127.0.0.1'] }),
      await ca.issue({ name: 'third', hosts: ['127.0.0.1'] }),
    ];
    const tls = { cert: at('live.pem'), key: at('live.key') };
    copyFileSync(first.cert, tls.cert);
    copyFileSync(first.key, tls.key);
    const hub = await startHub(folder.path, { server: { port: 0, tls } });
    const { port } = new URL(hub.baseUrl);
    const shown = () =>
      new Promise<unknown>((resolve, reject) => {
        const socket = connect({ port: Number(port), host: '127.0.0.1', ca: ca.pem }, () => {
          resolve(socket.getPeerCertificate().subject.CN);
          socket.destroy();
        }).once('error', reject);
      });
    copyFileSync(second.cert, tls.cert);
    expect(messages(await reload(hub)).join('\n')).toContain(
      `the former certificate stays in use: server.tls.key: ${tls.key} is not the key of the certificate`,
    );
    expect(await shown()).toBe('first');
    copyFileSync(second.key, tls.key);
    expect(doneBy(await reload(hub)).join('\n')).toContain(`the certificate of ${tls.cert}, valid to `);
    expect(await shown()).toBe('second');
    change('hub.yaml', { server: { port: 0, tls: third } });
    const lines = await reload(hub);
    expect(await shown()).toBe('third');
    expect(messages(lines)).not.toContain('these changes of the configuration take effect at the next start');
  });

  it('takes the users of the configuration, and opens the audit log again', async () => {
    const hub = await startHub(folder.path, { security: { enabled: true } });
    const password = 'correct horse battery staple';
    keepSecret(password);
    const { stdout } = await runCommand('hub/bin/workbench-hub.js', ['hash-password'], {
      cwd: folder.path,
      input: `${password}\n`,
    });
    const logIn = () =>
      fetch(`${hub.baseUrl}/api/2.0/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'anna', password }),
      });
    expect((await logIn()).status).toBe(401);
    renameSync(at('hub', 'audit', 'refusals.log'), at('hub', 'audit', 'refusals.old'));
    change('hub.yaml', {
      security: {
        enabled: true,
        users: [{ username: 'anna', passwordHash: stdout.trim(), roles: ['ADMIN'] }],
      },
    });
    expect(doneBy(await reload(hub))).toEqual([
      expect.stringContaining('the log file'),
      '1 users come from the configuration',
      'the files of the audit log are opened again',
    ]);
    expect((await logIn()).status).toBe(200);
    expect((await fetch(`${hub.baseUrl}/api/2.0/user`)).status).toBe(401);
    await eventually(() => existsSync(at('hub', 'audit', 'refusals.log')));
  });

  it('has the agent of its own instances take the log level', async () => {
    const hub = await startHub(folder.path, { instances: INSTANCES });
    await hub.logged(({ msg }) => msg === 'joined the hub');
    change('hub.yaml', { log: { level: 'debug' } });
    await reload(hub);
    await runTasks(hub, 1);
    await hub.logged((line) => line['program'] === 'agent' && line['level'] === 20);
  });

  it('is not ended by it at any time', async () => {
    const file = at('hub.yaml');
    writeFileSync(file, JSON.stringify({ server: { port: 0 }, dataDir: at('hub') }));
    const hub = startProgram('hub/bin/workbench-hub.js', ['--config', file], folder.path);
    await hub.logged(() => true);
    for (let signals = 0; signals < 20; signals++) hub.process.kill('SIGHUP');
    await hub.logged(({ msg }) => msg === 'reloaded');
    hub.process.kill('SIGTERM');
    hub.process.kill('SIGHUP');
    expect(await hub.ended).toBe(0);
  });
});

describe.skipIf(isLogrotateMissing)(logrotateTitle, () => {
  it('renames the log file of a hub, which loses no line', async () => {
    const hub = await startHub(folder.path, { log: { level: 'debug' }, instances: INSTANCES });
    const rules = readFileSync(CONFFILE, 'utf8')
      .replace('/var/log/workbench-hub/hub.log', at('hub', 'logs', 'hub.log'))
      .replace(/^ *su .*\n/m, '')
      .replace(/^ *systemctl .*$/m, `kill -HUP ${hub.process.pid}`);
    expect(rules).toContain('kill -HUP');
    writeFileSync(at('rules'), rules);
    const ran: string[] = [];
    for (let round = 0; round < 3; round++) {
      ran.push(...(await runTasks(hub, 20)));
      const rotating = promisify(execFile)(LOGROTATE, ['--force', '--state', at('state'), at('rules')]);
      ran.push(...(await runTasks(hub, 20)));
      await rotating;
      await eventually(() => existsSync(at('hub', 'logs', 'hub.log')));
    }
    expect(await hub.stop()).toBe(0);
    const texts = readdirSync(at('hub', 'logs')).map((name) => {
      const bytes = readFileSync(at('hub', 'logs', name));
      return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    });
    expect(texts).toHaveLength(4);
    const lines = texts.join('').trimEnd().split('\n');
    const ended = lines.map((line) => JSON.parse(line) as LogLine).filter(({ msg }) => msg === 'task ended');
    expect(ended.map((line) => line['taskId']).sort()).toEqual(ran.sort());
  });
});

describe('an agent that gets SIGHUP', () => {
  it('opens its log file again, takes the log level, and says what needs a restart', async () => {
    const hub = await startHub(folder.path);
    const agent = startAgent(folder.path, hub, 'host', { instances: [{ id: 'sim', version: '1' }] });
    await agent.logged(({ msg }) => msg === 'joined the hub');
    renameSync(at('host', 'logs', 'agent.log'), at('host', 'logs', 'agent.log.1'));
    change('host.yaml', { log: { level: 'debug' }, instances: [{ id: 'sim', version: '2' }] });
    await reload(agent);
    await eventually(() => linesOf('host', 'logs', 'agent.log').some(({ msg }) => msg === 'reloaded'));
    expect(await agent.logged(({ keys }) => keys !== undefined)).toMatchObject({ keys: ['instances'] });
    const task = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"duration":0}' };
    await fetch(`${hub.baseUrl}/api/2.0/workbench/task/simulate-work/create`, task);
    await agent.logged(({ level }) => level === 20);
    expect(await agent.stop()).toBe(0);
  });

  it('checks its certificate, and keeps the former one', async () => {
    const ca = await authority(folder.path, 'company');
    const server = await ca.issue({ name: 'hub', hosts: ['127.0.0.1'] });
    const own = await ca.issue({ name: 'host' });
    const another = await ca.issue({ name: 'another' });
    const hub = await startHub(folder.path, { server: { port: 0, tls: { ...server, agentCa: ca.file } } });
    const tls = { ca: ca.file, cert: at('live.pem'), key: at('live.key') };
    copyFileSync(own.cert, tls.cert);
    copyFileSync(own.key, tls.key);
    const agent = startAgent(folder.path, hub, 'host', { tls, instances: [] });
    await agent.logged(({ msg }) => msg === 'joined the hub');
    copyFileSync(another.cert, tls.cert);
    expect(messages(await reload(agent)).join('\n')).toContain(
      `the former files of "tls" stay in use: the file of "tls.key", ${tls.key}, is not the key of the certificate in ${tls.cert}`,
    );
    copyFileSync(another.key, tls.key);
    expect(doneBy(await reload(agent))).toContain(
      `the next connection uses ${tls.ca}, ${tls.cert}, ${tls.key}`,
    );
  });
});

it('the TLS files of an agent are read for each connection, and unusable ones are told once', async () => {
  const ca = await authority(folder.path, 'company');
  const own = await ca.issue({ name: 'host' });
  const names = { ca: at('live-ca.pem'), cert: own.cert, key: own.key };
  const told: string[] = [];
  const files = new TlsFiles(names, (message) => void told.push(message));
  await expect(files.current()).rejects.toThrow(`the file of "tls.ca", ${names.ca}, cannot be read (ENOENT)`);
  copyFileSync(ca.file, names.ca);
  const usable = await files.current();
  expect(usable.ca).toBe(readFileSync(ca.file, 'utf8'));
  writeFileSync(names.ca, 'half a certif');
  expect(await files.current()).toEqual(usable);
  expect(await files.current()).toEqual(usable);
  expect(told).toEqual([
    `the former files of "tls" stay in use: the file of "tls.ca", ${names.ca}, holds no certificate in PEM`,
  ]);
  const renewed = await authority(folder.path, 'renewed');
  copyFileSync(renewed.file, names.ca);
  expect((await files.current()).ca).toBe(readFileSync(renewed.file, 'utf8'));
  expect(told).toHaveLength(1);
});

describe('a program that rotates its log', () => {
  it('begins a new file when one is full, and its readers find the current one', async () => {
    const rotate = { maxFileSize: '64KiB', keepFiles: 2 };
    const hub = await startHub(folder.path, { log: { level: 'debug', rotate }, instances: INSTANCES });
    await eventually(async () => {
      await runTasks(hub, 20);
      return existsSync(at('hub', 'logs', 'hub-000003.log'));
    });
    // Removed after the rename.
    await eventually(() => !existsSync(at('hub', 'logs', 'hub-000001.log')));
    expect((await fetch(`${hub.baseUrl}/actuator/logfile?tail=1`)).status).toBe(200);
    expect(await hub.stop()).toBe(0);
    expect(messages(linesOf('hub', 'logs', 'hub.log')).at(-1)).toBe('stopped');
  });
});
