/** `workbench-agent doctor`: one line for each check, and an exit code that shows whether one failed. */

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { authority } from '../support/hubs/certificates.js';
import { endPrograms, type HubProgram, startAgent, startHub } from '../support/programs/programs.js';
import { type CommandOutcome, runCommand } from '../support/programs/run-command.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

const instances = [{ id: 'sim', version: '1', count: 2 }];

/** Runs the doctor with this configuration, beside that of an agent that may run. */
function doctor(config: Record<string, unknown>, ...words: readonly string[]): Promise<CommandOutcome> {
  const file = join(folder.path, 'doctor.yaml');
  writeFileSync(file, JSON.stringify({ id: 'host', dataDir: join(folder.path, 'host'), ...config }));
  return runCommand('agent/bin/workbench-agent.js', ['--config', file, 'doctor', ...words], {
    cwd: folder.path,
  });
}

const settingsFor = (hub: HubProgram, scheme = 'ws') => ({
  hub: hub.baseUrl.replace(/^https?/, scheme),
  tokenFile: hub.tokenFile,
  instances,
});

it('finds nothing wrong with an agent that runs, and does not disturb it', async () => {
  const hub = await startHub(folder.path);
  const agent = startAgent(folder.path, hub, 'host', { instances });
  await agent.logged(({ msg }) => /joined/.test(String(msg)));
  const { code, stdout } = await doctor(settingsFor(hub));
  expect(code, stdout).toBe(0);
  for (const line of [
    /^ok {7}configuration: valid$/m,
    /^ok {7}dataDir: this user can read and write /m,
    /^ok {7}program of sim: workbench-runner$/m,
    /^ok {7}start of sim-1, sim-2: workbench-runner [\d.]+ has started and said hello, in [\d.]+ s$/m,
    /^ok {7}hub: a server answers at ws:\/\/127/m,
    /^ok {7}TLS: not needed: ws:\/\/127\S+ is this machine$/m,
    /^ok {7}credential: accepted for host$/m,
    /^ok {7}clock: 0\.\d s from that of the hub$/m,
    /^ok {7}protocol version: 1, of hub version /m,
  ])
    expect(stdout).toMatch(line);
  expect(stdout).not.toMatch(/^FAULT/m);
  expect(hub.lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  expect(agent.lines.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});

it('tells apart a hub that is down, one that is not trusted, and one that refuses', async () => {
  const none = createServer().listen(0, '127.0.0.1');
  await once(none, 'listening');
  const { port } = none.address() as AddressInfo;
  none.close();
  const away = await doctor({ hub: `ws://127.0.0.1:${port}`, token: 'wrong-token' });
  expect(away.code).toBe(1);
  expect(away.stdout).toContain(`FAULT    hub: ws://127.0.0.1:${port}: nothing listens at this address`);

  const ca = await authority(folder.path, 'ca');
  const tls = await ca.issue({ name: 'hub', hosts: ['127.0.0.1'] });
  const hub = await startHub(folder.path, { server: { port: 0, tls } });
  const untrusted = await doctor(settingsFor(hub, 'wss'));
  expect(untrusted.code).toBe(1);
  expect(untrusted.stdout).toMatch(/^FAULT {4}TLS: wss:\S+ its certificate is signed by an authority that/m);

  const unknown = { hub: settingsFor(hub, 'wss').hub, dataDir: join(folder.path, 'new') };
  expect((await doctor(unknown)).stdout).toMatch(/^FAULT {4}TLS: wss:\S+ its certificate is signed by an/m);
  const known = (await doctor({ ...unknown, tls: { ca: ca.file } })).stdout;
  expect(known).toMatch(/^FAULT {4}credential: this agent has no token or credential/m);
  expect(known).toMatch(/^ok {7}TLS: the certificate of wss:\S+ is trusted$/m);

  const wrong = { hub: settingsFor(hub, 'wss').hub, token: 'wrong-token', tls: { ca: ca.file } };
  const refused = await doctor({ ...wrong, instances });
  expect(refused.code).toBe(1);
  expect(refused.stdout).toMatch(/^ok {7}TLS: the certificate of wss:\S+ is trusted$/m);
  expect(refused.stdout).toMatch(/^FAULT {4}credential: it does not accept the token \(401\)/m);
});

it('tells the id for which a credential is not valid, and the start of a program that fails', async () => {
  const hub = await startHub(folder.path);
  const enroll = await runCommand(
    'hub/bin/workbench-hub.js',
    ['--config', join(folder.path, 'hub.yaml'), 'agent', 'enroll', 'host'],
    { cwd: folder.path },
  );
  const file = join(folder.path, 'enroll.yaml');
  const { hub: address } = settingsFor(hub);
  writeFileSync(file, JSON.stringify({ id: 'host', dataDir: join(folder.path, 'host'), hub: address }));
  await runCommand('agent/bin/workbench-agent.js', ['--config', file, 'enroll'], {
    cwd: folder.path,
    input: enroll.stdout,
  });
  const failing = [{ id: 'sim', version: '1', command: ['sh', '-c', 'echo no license >&2; exit 3'] }];
  const { code, stdout } = await doctor({ hub: address, id: 'other', instances: failing });
  expect(code, stdout).toBe(1);
  expect(stdout).toContain(
    'FAULT    start of sim: the program exited with code 3; its last words: "no license"',
  );
  expect(stdout).toContain('FAULT    credential: the credential of agent host is not valid for the id other');

  const sound = await doctor({ hub: address, instances: failing }, '--no-programs', '--json');
  expect(sound.code, sound.stdout).toBe(0);
  expect(JSON.parse(sound.stdout)).toMatchObject({ ok: true });
});

it('reports a configuration that is not valid', async () => {
  const { code, stdout } = await doctor({ hub: 'http://127.0.0.1' });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^FAULT {4}configuration: .*doctor\.yaml: hub: found/m);
});
