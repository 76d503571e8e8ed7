/** `wb` and the agent on a hub whose authority only the system knows: its store is files that OpenSSL is told of. They run on the Node.js of the
 *  single files, which can read it. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Authority, authority } from '../support/hubs/certificates.js';
import { endPrograms, type HubProgram, startHub, startProgram } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const { nodeBinary, systemHere } = (await import(
  new URL('../../deploy/package/one-file/node-binary.mjs', import.meta.url).href
)) as { nodeBinary(system: string): { readonly program: string }; systemHere(): string };
const node = nodeBinary(systemHere()).program;

let folder: TemporaryFolder;
let company: Authority;
let hub: HubProgram;

beforeEach(async () => {
  folder = await temporaryFolder();
  company = await authority(folder.path, 'company');
  const tls = await company.issue({ name: 'hub', hosts: ['127.0.0.1'] });
  hub = await startHub(folder.path, { server: { port: 0, tls } });
  mkdirSync(join(folder.path, 'none'));
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

/** Environment of a system that trusts the certificates in a file, and no others. */
const storeOf = (file: string) => ({ SSL_CERT_FILE: file, SSL_CERT_DIR: join(folder.path, 'none') });

/** Exit code and standard error of `wb tasks`. */
function tasks(file: string, words: readonly string[] = []): Promise<string> {
  const env = { ...storeOf(file), WB_PROFILES: join(folder.path, 'profiles.json') };
  const call = [join(ROOT, 'packages/cli/bin/wb.js'), 'tasks', '--hub', hub.baseUrl, ...words];
  return new Promise((resolve) => {
    execFile(node, call, { env }, (error, _, stderr) => resolve(`${error?.code ?? 0} ${stderr}`));
  });
}

/** The first lines of the log of an agent that match. */
async function agentSays(id: string, file: string, tls: object, fits: RegExp): Promise<string> {
  const config = { id, hub: hub.baseUrl.replace('https', 'wss'), tokenFile: hub.tokenFile, dataDir: id, tls };
  writeFileSync(join(folder.path, `${id}.yaml`), JSON.stringify({ ...config, instances: [] }));
  const words = ['--config', `${id}.yaml`];
  const agent = startProgram('agent/bin/workbench-agent.js', words, folder.path, storeOf(file), { node });
  const { msg } = await agent.logged(({ msg: text }) => fits.test(text ?? ''));
  return String(msg);
}

it('wb trusts what the system trusts, and says what to do about an authority that neither knows', async () => {
  expect(await tasks(company.file)).toBe('0 ');
  const stranger = await authority(folder.path, 'stranger');
  const advice =
    /^4 wb: .*its certificate is signed by no authority that is trusted here \(\w+\); name the certificate of a private authority with --ca-file, or WB_CA_FILE, or add it to those that this system trusts\n$/;
  expect(await tasks(stranger.file)).toMatch(advice);
  // An authority that is named is trusted besides those of the system.
  expect(await tasks(stranger.file, ['--ca-file', company.file])).toBe('0 ');
  expect(await tasks(company.file, ['--ca-file', stranger.file])).toBe('0 ');
  // A store that cannot be read is an empty one.
  writeFileSync(join(folder.path, 'damaged.pem'), 'no certificate');
  expect(await tasks(join(folder.path, 'damaged.pem'))).toMatch(advice);
});

it('an agent trusts what the system trusts, unless tls.ca names an authority', async () => {
  const joined = /^joined the hub/;
  const refused = /^not joined/;
  expect(await agentSays('of-system', company.file, {}, joined)).toBe('joined the hub');
  const stranger = await authority(folder.path, 'stranger');
  expect(await agentSays('of-others', stranger.file, {}, refused)).toMatch(
    /an authority that this agent does not trust \(\w+\): set "tls\.ca" to .*, or add it to those that this system trusts/,
  );
  const named = await agentSays('of-setting', company.file, { ca: stranger.file }, refused);
  expect(named).toMatch(/set "tls\.ca" to a file with the certificate of that authority(?!, or)/);
});
