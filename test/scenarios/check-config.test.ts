/** `workbench-hub --check-config`: what would prevent a start is reported, each with a remedy. */
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
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

async function run(config: Record<string, unknown>, ...args: string[]) {
  const file = join(folder.path, 'hub.yaml');
  writeFileSync(file, stringify({ dataDir: join(folder.path, 'data'), server: { port: 0 }, ...config }));
  const program = startProgram('hub/bin/workbench-hub.js', [...args, '--config', file], folder.path);
  return { exitCode: await program.ended, printed: program.printed.join('\n') };
}

const check = (config: Record<string, unknown>) => run(config, '--check-config');

it('accepts a configuration with which a hub can start', async () => {
  expect(await check({})).toEqual({ exitCode: 0, printed: 'The configuration is valid.' });
});

it('refuses a label of an instance that contradicts the system of this machine, with platformLabels', async () => {
  const instances = [{ id: 'a', version: '1', labels: ['os:another'] }];
  expect((await check({ instances })).exitCode).toBe(0);
  const { exitCode, printed } = await check({ instances, instanceHost: { platformLabels: true } });
  expect(exitCode).toBe(2);
  expect(printed).toContain(
    'instances[0].labels[0]: found "os:another", allowed: with platformLabels, no label that begins with os:',
  );
});

it('names the port that another program has', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { exitCode, printed } = await check({ server: { port } });
  other.close();
  expect(exitCode).toBe(2);
  expect(printed).toContain(`none could listen on 127.0.0.1:${port}: another program has the port`);
});

it('names every fault: certificate, authority of the sign-on, data folder and log file', async () => {
  const file = join(folder.path, 'a-file');
  writeFileSync(file, 'text');
  const { exitCode, printed } = await check({
    dataDir: join(file, 'data'),
    log: { file: join(file, 'logs', 'hub.log') },
    server: { port: 0, tls: { cert: join(folder.path, 'none.pem'), key: join(folder.path, 'none.key') } },
    security: {
      enabled: true,
      oidc: { issuer: 'https://login.example.org', audience: 'hub', ca: file },
    },
  });
  expect(exitCode).toBe(2);
  for (const text of [
    `dataDir: ${file} is not a folder`,
    `log.file: ${file} is not a folder`,
    `server.tls.cert: ${join(folder.path, 'none.pem')}: there is no such file`,
    `the file ${file} of security.oidc.ca holds no certificate in PEM`,
  ])
    expect(printed).toContain(text);
});

it('leaves nothing behind, and doctor does not recommend a restore before the first start', async () => {
  const dataDir = join(folder.path, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  expect((await check({})).exitCode).toBe(0);
  const { exitCode, printed } = await run({}, 'doctor');
  expect(exitCode).toBe(0);
  expect(printed).toContain(`there are none in ${dataDir}: no hub was started with it yet`);
  expect(printed).not.toContain('restore');
});
