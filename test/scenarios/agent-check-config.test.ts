/** `workbench-agent --check-config`: what would prevent a start is reported, each with a remedy. */
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { authority } from '../support/hubs/certificates.js';
import { endPrograms, startProgram } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

const at = (name: string) => join(folder.path, name);

async function check(config: Record<string, unknown>) {
  const file = at('agent.yaml');
  writeFileSync(file, stringify({ id: 'host', token: 'a-token', dataDir: at('data'), ...config }));
  const program = startProgram(
    'agent/bin/workbench-agent.js',
    ['--check-config', '--config', file],
    folder.path,
  );
  return { exitCode: await program.ended, printed: program.printed.join('\n') };
}

async function expectFaults(config: Record<string, unknown>, ...texts: readonly string[]): Promise<void> {
  const { exitCode, printed } = await check(config);
  expect(exitCode, printed).toBe(2);
  for (const text of texts) expect(printed).toContain(text);
  expect(printed.split('\n')).toHaveLength(texts.length);
}

const sim = (...command: string[]) => ({ id: 'sim', version: '1', command });

it('accepts a configuration with which an agent can start, and leaves nothing behind', async () => {
  const instances = [{ id: 'sim', version: '1' }, sim(process.execPath), sim('node')].map(
    (instance, index) => ({ ...instance, id: `sim-${index}` }),
  );
  const { exitCode, printed } = await check({ instances });
  expect(exitCode, printed).toBe(0);
  expect(printed).toMatch(/^The configuration is valid\.\ncontrol groups: .+$/);
  expect(readdirSync(folder.path)).toEqual(['agent.yaml']);
});

it('names the programs that do not exist or cannot be executed', async () => {
  writeFileSync(at('solver'), '#!/bin/sh\n', { mode: 0o644 });
  const instances = [sim('no-such-solver'), sim(at('none')), sim(at('solver')), sim(folder.path)].map(
    (instance, index) => ({ ...instance, id: `sim-${index}` }),
  );
  const remedy = 'install it, or correct "command" of the instance';
  await expectFaults(
    { instances },
    `program of sim-0: there is no "no-such-solver" in PATH: ${remedy}`,
    `program of sim-1: there is no ${at('none')}: ${remedy}`,
    `program of sim-2: this user may not execute ${at('solver')}: ${remedy}`,
    `program of sim-3: ${folder.path} is not a file: ${remedy}`,
  );
});

it('names a token, a credential and folders that are missing or unusable', async () => {
  writeFileSync(at('a-file'), 'a text of several words');
  await expectFaults({ token: null }, 'credential: this agent has no token or credential: either run');
  await expectFaults(
    { token: null, tokenFile: at('none'), dataDir: at('a-file'), log: { file: folder.path } },
    `token: the tokenFile ${at('none')} cannot be read (ENOENT): correct tokenFile`,
    `dataDir: ${at('a-file')} is not a folder: correct the path`,
    `log.file: ${folder.path} is a folder: correct the path`,
  );
  await expectFaults(
    { token: null, tokenFile: at('a-file') },
    `token: the tokenFile ${at('a-file')} holds no token`,
  );
  mkdirSync(at('data'), { mode: 0o700 });
  writeFileSync(at('data/node-id'), 'damaged', { mode: 0o600 });
  writeFileSync(at('data/spool'), '', { mode: 0o600 });
  await expectFaults(
    {},
    `dataDir: ${at('data/spool')} is not a folder: correct the path`,
    `dataDir: ${at('data/node-id')} does not hold an identifier: remove it, and the agent makes a new one`,
  );
});

it('names an authority and a certificate that are unusable', async () => {
  const hub = 'wss://hub.example.com';
  const ca = await authority(folder.path, 'ca');
  const [mine, other] = [await ca.issue({ name: 'mine' }), await ca.issue({ name: 'other' })];
  const expired = await ca.issue({ name: 'old', expired: true });
  writeFileSync(at('a-file'), 'text');
  const { exitCode, printed } = await check({ hub, tls: { ca: ca.file, ...mine } });
  expect(exitCode, printed).toBe(0);
  expect(printed).toContain('authority: the certificate of CN=ca expires at');
  await expectFaults(
    { hub, tls: { ca: at('none.pem'), cert: mine.cert, key: other.key } },
    `authority: the file of "tls.ca", ${at('none.pem')}, cannot be read (ENOENT): correct tls.ca`,
    `certificate: ${other.key} is not the key of the certificate in ${mine.cert}`,
  );
  await expectFaults(
    { hub, tls: { ca: at('a-file'), cert: expired.cert, key: expired.key } },
    `authority: ${at('a-file')} holds no certificate in PEM: copy the certificate of the authority`,
    'certificate: the certificate of CN=old expired at',
  );
});

it('remarks what does not prevent a start', async () => {
  writeFileSync(at('token'), 'a-token\n');
  chmodSync(at('token'), 0o644);
  const { exitCode, printed } = await check({
    token: null,
    tokenFile: at('token'),
    tls: { ca: at('none.pem') },
    fileRoots: [at('models')],
  });
  expect(exitCode, printed).toBe(0);
  for (const text of [
    `token: ${at('token')} can be read by other users (mode 644): run "chmod 600 ${at('token')}"`,
    'tls: it is set, but "hub" begins with ws://: write wss://',
    `fileRoots: there is no ${at('models')}: mount it`,
  ])
    expect(printed).toContain(text);
  expect(existsSync(at('data'))).toBe(false);
});
