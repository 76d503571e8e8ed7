/** Agents as one file that follow the version of their hub, and go back from one that is bad (upgrading.md). */
import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { offerAgentFile } from '../support/agents/agent-files.js';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import {
  endPrograms,
  type HubProgram,
  startAgent,
  startCommand,
  startHub,
} from '../support/programs/programs.js';
import { keepSecret } from '../support/secrets.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const AGENT_ID = 'host-of-one-file';
const OLD = '0.0.1';
const SYSTEM = `linux-${process.arch}`;

let packages: TemporaryFolder;
let site: TemporaryFolder;

beforeAll(async () => {
  packages = await temporaryFolder();
  for (const version of [OLD, buildInfo.version]) {
    const options = ['--only', 'file', '--systems', SYSTEM, '--as-built', '--version', version];
    const out = join(packages.path, version);
    await promisify(execFile)(process.execPath, ['deploy/package.mjs', ...options, '--out', out], {
      cwd: ROOT,
    });
  }
});
afterAll(() => packages.remove());
beforeEach(async () => {
  site = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await site.remove();
});

it('updates an agent to the version of its hub once it is empty, and keeps it over restarts', async () => {
  const hub = await startHub(site.path, configOf(join(packages.path, buildInfo.version)));
  const { agent, config, start } = installOld(hub);
  const first = start();
  const client = restClient(hub.baseUrl);
  const begun = join(site.path, 'begun');
  const go = join(site.path, 'go');
  const running = await client.createBatchJob(
    scriptJob(`writeFileSync(${JSON.stringify(begun)}, '');
while (!existsSync(${JSON.stringify(go)})) await new Promise((resolve) => setTimeout(resolve, 20));
writeFileSync('v.txt', process.execPath);`),
  );
  await expect.poll(() => existsSync(begun), { timeout: 60_000 }).toBe(true);

  const ordered = await update(hub);
  expect(ordered).toMatchObject({ status: 200, body: { updatable: true, system: SYSTEM } });
  await expect.poll(async () => (await state(hub)).body.phase, { timeout: 60_000 }).toBe('WAITING');
  writeFileSync(go, '');
  expect(outputsOf(await client.batchJobResult(running))).toEqual({ 'v.txt': agent });

  const current = () => state(hub).then(({ body }) => body.running);
  await expect.poll(current, { timeout: 60_000 }).toContain(`${buildInfo.version}-`);
  const id = await client.createBatchJob(scriptJob("writeFileSync('v.txt', process.execPath);"));
  const result = await client.batchJobResult(id);
  const program = join(site.path, 'host/data/versions', `${await current()}`, 'workbench-agent');
  expect(outputsOf(result)).toEqual({ 'v.txt': program });
  expect(execFileSync(agent, ['--version'], { encoding: 'utf8' })).toBe(`${OLD}\n`);
  expect(execFileSync(agent, ['--config', config, '--check-config'], { encoding: 'utf8' })).toContain(
    'valid',
  );
  expect((await update(hub)).body).toMatchObject({ phase: 'IDLE' });

  expect(await first.stop()).toBe(0);
  start();
  await expect.poll(current, { timeout: 60_000 }).toContain(`${buildInfo.version}-`);
});

it('updates an agent without being asked, if it is in a group', async () => {
  const groups = [{ labels: ['belts'] }];
  const folder = join(packages.path, buildInfo.version);
  const hub = await startHub(site.path, { agents: { enrolledOnly: true, updates: { folder, groups } } });
  installOld(hub, ['belts']).start();
  const running = () => state(hub).then(({ body }) => body.running);
  await expect.poll(running, { timeout: 120_000 }).toContain(`${buildInfo.version}-`);
});

it('goes back from a version that crashes, tells its log, and does not try it again by itself', async () => {
  const bad = join(site.path, 'bad');
  offerAgentFile(bad, "#!/bin/sh\necho 'the library of tomorrow is missing' >&2\nexit 1\n", SYSTEM);
  const hub = await startHub(site.path, configOf(bad));
  const { agent, start } = installOld(hub);
  const program = start();
  await expect.poll(async () => (await state(hub)).status, { timeout: 60_000 }).toBe(200);

  expect((await update(hub)).status).toBe(200);
  const failed = async () => (await state(hub)).body.failed;
  await expect.poll(failed, { timeout: 60_000 }).toMatchObject({
    version: expect.stringContaining(`${buildInfo.version}-`),
    reason: 'it ended with exit code 1',
    log: 'the library of tomorrow is missing\n',
  });
  const client = restClient(hub.baseUrl);
  const id = await client.createBatchJob(scriptJob("writeFileSync('v.txt', process.execPath);"));
  expect(outputsOf(await client.batchJobResult(id))).toEqual({ 'v.txt': agent });
  expect(await update(hub)).toMatchObject({
    status: 409,
    body: { message: expect.stringMatching(/has failed there: it ended with exit code 1$/) },
  });
  expect(await program.stop()).toBe(0);
});

it('does not update an agent that is not one file, and says why', async () => {
  const hub = await startHub(site.path, {
    agents: { updates: { folder: join(packages.path, buildInfo.version) } },
  });
  startAgent(site.path, hub, AGENT_ID, { instances: [] });
  await expect.poll(async () => (await state(hub)).status, { timeout: 60_000 }).toBe(200);
  const reason = 'this agent runs from a clone of the sources: update and build that';
  expect((await state(hub)).body).toMatchObject({ updatable: false, reason });
  expect(await update(hub)).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining(reason) },
  });
});

interface Answer {
  readonly status: number;
  readonly body: { readonly phase?: string; readonly running?: string; readonly failed?: object };
}

async function asked(hub: HubProgram, method: string): Promise<Answer> {
  const response = await fetch(`${hub.baseUrl}/api/x/agents/${AGENT_ID}/update`, { method });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const state = (hub: HubProgram) => asked(hub, 'GET');
const update = (hub: HubProgram) => asked(hub, 'POST');

function configOf(folder: string) {
  return { agents: { enrolledOnly: true, updates: { folder } } };
}

function scriptJob(script: string) {
  return {
    inputScripts: [{ content: base64(`import { existsSync, writeFileSync } from 'node:fs';\n${script}`) }],
  };
}

/** An enrolled agent of the old version in a folder of its own. */
function installOld(hub: HubProgram, labels: readonly string[] = []) {
  const folder = join(site.path, 'host');
  mkdirSync(folder);
  const agent = join(folder, 'workbench-agent');
  copyFileSync(join(packages.path, OLD, `workbench-agent-${OLD}-${SYSTEM}`), agent);
  const config = join(folder, 'agent.yaml');
  writeFileSync(
    config,
    JSON.stringify({
      id: AGENT_ID,
      hub: hub.baseUrl.replace('http', 'ws'),
      dataDir: join(folder, 'data'),
      instances: [{ id: 'node', version: '1', labels }],
    }),
  );
  const code = execFileSync(
    process.execPath,
    [
      join(ROOT, 'hub/bin/workbench-hub.js'),
      '--config',
      join(site.path, 'hub.yaml'),
      'agent',
      'enroll',
      AGENT_ID,
    ],
    { encoding: 'utf8' },
  ).trim();
  keepSecret(code);
  execFileSync(agent, ['enroll', '--config', config], { input: code });
  keepSecret(readFileSync(join(folder, 'data/credential'), 'utf8').trim());
  return { agent, config, start: () => startCommand([agent, '--config', config], folder) };
}
