/** Hub and agents on real processes as in a company network: TLS, client certificates, and a credential for each agent. */
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, fetch as undiciFetch } from 'undici';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Authority, authority, type CertificateFiles } from '../support/hubs/certificates.js';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import {
  endPrograms,
  type HubProgram,
  type Program,
  startAgent,
  startHub,
} from '../support/programs/programs.js';
import { type CommandOutcome, runCommand } from '../support/programs/run-command.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

/** A dozen processes start one after the other. */
const TIMEOUT_MS = 120_000;
vi.setConfig({ testTimeout: TIMEOUT_MS });

const HUB = 'hub/bin/workbench-hub.js';
const AGENT = 'agent/bin/workbench-agent.js';

let folder: TemporaryFolder;
let ca: Authority;
let certificate: CertificateFiles;
let dispatcher: Agent;

beforeEach(async () => {
  folder = await temporaryFolder();
  ca = await authority(folder.path, 'company');
  certificate = await ca.issue({ name: 'hub', hosts: ['127.0.0.1'] });
  dispatcher = new Agent({ connect: { ca: ca.pem } });
});
afterEach(async () => {
  await endPrograms();
  await dispatcher.destroy();
  await folder.remove();
});

function startTlsHub(tls: object = {}, agents: object = {}, port = 0): Promise<HubProgram> {
  return startHub(folder.path, { server: { port, tls: { ...certificate, ...tls } }, agents }, port);
}

function clientOf(hub: HubProgram) {
  return restClient(hub.baseUrl, (url, init) =>
    undiciFetch(url, { ...init, dispatcher } as Parameters<typeof undiciFetch>[1]),
  );
}

const ofHub = (...args: string[]): Promise<CommandOutcome> =>
  runCommand(HUB, [...args, '--config', 'hub.yaml'], { cwd: folder.path });

const enrollAgent = (id: string, input: string): Promise<CommandOutcome> =>
  runCommand(AGENT, ['enroll', '--config', `${id}.yaml`], { cwd: folder.path, input });

async function codeFor(id: string): Promise<string> {
  const { code, stdout, stderr } = await ofHub('agent', 'enroll', id);
  expect(code, stderr).toBe(0);
  return stdout;
}

/** The first reason for which this agent did not join. */
async function complaint(hub: HubProgram, id: string, config: Record<string, unknown>): Promise<string> {
  const program = startAgent(folder.path, hub, id, { instances: [], ...config });
  const { msg } = await program.logged(({ msg: text }) => text?.startsWith('not joined') === true);
  return String(msg);
}

const joinedAgain = (agent: Program, times: number) =>
  agent.logged((line) => line.msg === 'joined the hub' && agent.lines.filter(isJoin).length >= times);
const isJoin = ({ msg }: { readonly msg?: string }) => msg === 'joined the hub';

it('an agent is enrolled, shows its certificate, runs a job with files, and is revoked while it runs', async () => {
  const hub = await startTlsHub({ agentCa: ca.file }, { enrolledOnly: true });
  const client = clientOf(hub);
  const own = await ca.issue({ name: 'sim-host' });
  const config = {
    tokenFile: null,
    tls: { ca: ca.file, ...own },
    instances: [{ id: 'sim', version: '9.1.0' }],
  };
  // The agent has no secret yet: the start is refused, with both remedies, of which this hub permits one.
  const refused = startAgent(folder.path, hub, 'sim-host', config);
  expect(await refused.ended).toBe(2);
  const [fatal] = refused.lines.filter(({ msg }) => msg?.includes('no token or credential'));
  expect(fatal?.msg).toMatch(
    /"workbench-hub agent enroll sim-host".*"workbench-agent enroll".*; or, unless the hub has agents\.enrolledOnly, set token/,
  );

  const code = await codeFor('sim-host');
  const enrolled = await enrollAgent('sim-host', code);
  expect(enrolled).toMatchObject({ code: 0, stdout: expect.stringContaining('Agent sim-host is enrolled') });
  expect((await stat(join(folder.path, 'sim-host', 'credential'))).mode & 0o777).toBe(0o600);
  const replayed = await enrollAgent('sim-host', code);
  expect(replayed).toMatchObject({ code: 2, stderr: expect.stringContaining('the code is not accepted') });

  const agent = startAgent(folder.path, hub, 'sim-host', config);
  const runJob = async () => {
    const id = await client.createBatchJob({
      inputModel: { type: 'WBPZ', content: base64('the model') },
      inputScripts: [
        {
          content: base64(
            `const fs = require('node:fs');
             fs.writeFileSync('out.txt', fs.readFileSync(process.env.WORKBENCH_MODEL, 'utf8').repeat(50_000));`,
          ),
        },
      ],
    });
    const result = await client.batchJobResult(id);
    expect(result.status, result.message).toBe('FINISHED');
    expect(outputsOf(result)['out.txt']).toBe('the model'.repeat(50_000));
  };
  await runJob();
  expect((await ofHub('agent', 'list')).stdout).toMatch(/^sim-host +enrolled +20\S+ +20\S+$/m);

  expect((await ofHub('agent', 'revoke', 'sim-host')).code).toBe(0);
  await agent.logged(({ reason }) => reason === 'the credential of agent sim-host is revoked');
  await agent.logged(({ msg }) =>
    /"workbench-hub agent enroll sim-host".*"workbench-agent enroll"/.test(msg ?? ''),
  );
  expect((await ofHub('agent', 'revoke', 'sim-host')).code).toBe(2);

  // It keeps trying, and takes the new credential without a restart.
  expect((await enrollAgent('sim-host', await codeFor('sim-host'))).code).toBe(0);
  await joinedAgain(agent, 2);
  await runJob();

  // A restarted hub still knows it.
  const { port } = new URL(hub.baseUrl);
  await hub.stop();
  await startTlsHub({ agentCa: ca.file }, { enrolledOnly: true }, Number(port));
  await joinedAgain(agent, 3);
  await runJob();

  const secrets = [code.trim()];
  for (const program of [hub, agent]) {
    for (const secret of secrets) expect(JSON.stringify(program.lines)).not.toContain(secret);
  }
});

describe('an agent reports the error and the setting', () => {
  it('when it does not trust the hub, or the hub does not trust it', async () => {
    const hub = await startTlsHub({ agentCa: ca.file });
    const { port } = new URL(hub.baseUrl);
    const stranger = await authority(folder.path, 'stranger');
    const own = await ca.issue({ name: 'agent' });
    const good = { ca: ca.file, ...own };
    const complaints = await Promise.all([
      complaint(hub, 'unset', {}),
      complaint(hub, 'other-ca', { tls: { ca: stranger.file } }),
      complaint(hub, 'wrong-host', { hub: `wss://localhost:${port}`, tls: good }),
      complaint(hub, 'plain', { hub: `ws://127.0.0.1:${port}`, tls: good }),
      complaint(hub, 'no-certificate', { tls: { ca: ca.file } }),
    ]);
    const untrusted =
      /its certificate is signed by an authority that this agent does not trust \(\w+\): set "tls.ca"/;
    expect(complaints[0]).toMatch(untrusted);
    expect(complaints[1]).toMatch(untrusted);
    expect(complaints[2]).toMatch(/its certificate is not for localhost, but for IP Address:127\.0\.0\.1 /);
    expect(complaints[3]).toMatch(/a hub with TLS is reached by wss:\/\//);
    expect(complaints[4]).toMatch(/\(401\).*the log of the hub has the reason/);
    await hub.logged(({ reason }) => String(reason).startsWith('it shows no client certificate'));
    const right = startAgent(folder.path, hub, 'right', { instances: [], tls: good });
    await right.logged(isJoin);
  });

  it('when the certificate of the hub has expired', async () => {
    const expired = await ca.issue({ name: 'hub', hosts: ['127.0.0.1'], expired: true });
    const hub = await startTlsHub(expired);
    expect(await complaint(hub, 'late', { tls: { ca: ca.file } })).toMatch(
      /its certificate has expired \(CERT_HAS_EXPIRED\): renew server\.tls\.cert of the hub/,
    );
  });

  it('when the hub has no TLS', async () => {
    const plain = await startHub(folder.path);
    const { port } = new URL(plain.baseUrl);
    expect(await complaint(plain, 'secure', { hub: `wss://127.0.0.1:${port}` })).toMatch(
      /the server at this address does not use TLS .*: write ws:\/\//,
    );
  });

  it('when one of its files cannot be read, and does not start', async () => {
    const hub = await startHub(folder.path);
    const missing = join(folder.path, 'missing.pem');
    const program = startAgent(folder.path, hub, 'no-ca', { instances: [], tls: { ca: missing } });
    expect(await program.ended).toBe(2);
    expect(program.lines.map(({ msg }) => msg)).toContain(
      `the file of "tls.ca", ${missing}, cannot be read (ENOENT)`,
    );
  });
});

it('an enrollment code without a hub is refused with what to do', async () => {
  const hub = await startHub(folder.path);
  startAgent(folder.path, hub, 'typo', { instances: [] });
  const { code, stderr } = await enrollAgent('typo', '0000-0000\n');
  expect(code).toBe(2);
  expect(stderr).toMatch(/the hub refused \(401\).*Is typo the id for which the code was made/);
  expect(await enrollAgent('typo', '')).toMatchObject({
    code: 2,
    stderr: 'no code was given: enter it on standard input\n',
  });
  for (const args of [
    ['enroll', '../x'],
    ['enroll', 'x', '--valid', '1y'],
    ['revoke', 'nobody'],
    ['dance'],
  ]) {
    expect((await ofHub('agent', ...args)).code, args.join(' ')).toBe(2);
  }
});

it('commands can create the data folder of the hub, several at once', async () => {
  await writeFile(join(folder.path, 'hub.yaml'), JSON.stringify({ dataDir: join(folder.path, 'hub') }));
  const codes = await Promise.all(['a', 'b', 'c', 'd'].map(codeFor));
  expect(new Set(codes).size).toBe(4);
  const { stdout } = await ofHub('agent', 'list');
  expect(stdout.match(/not enrolled, code open/g)).toHaveLength(4);
});
