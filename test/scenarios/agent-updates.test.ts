/** Agents as one file that follow the version of their hub, and go back from one that crashes (upgrading.md). */
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { offerAgentFile } from '../support/agents/agent-files.js';
import {
  AGENT_ID,
  installAgent,
  NEWER,
  OLD,
  orderUpdate,
  packageAgent,
  packagedAgent,
  SYSTEM,
  scriptJob,
  TELLS_ITS_PROGRAM,
  updateState,
  waitingScript,
} from '../support/agents/updated-agents.js';
import { outputsOf, restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startAgent, startHub } from '../support/programs/programs.js';
import { callWb, endCalls } from '../support/programs/wb.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let packages: TemporaryFolder;
let site: TemporaryFolder;

const folderOf = (version: string) => join(packages.path, version);

beforeAll(async () => {
  packages = await temporaryFolder();
  for (const version of [OLD, NEWER, buildInfo.version]) await packageAgent(version, folderOf(version));
});
afterAll(() => packages.remove());
beforeEach(async () => {
  site = await temporaryFolder();
});
afterEach(async () => {
  endCalls();
  await endPrograms();
  await site.remove();
});

it('updates an agent to the version of its hub once it is empty, and keeps it over restarts', async () => {
  const hub = await startHub(site.path, configOf(folderOf(buildInfo.version)));
  const { agent, config, start } = await install(hub, OLD);
  const first = start();
  const client = restClient(hub.baseUrl);
  const running = await client.createBatchJob(scriptJob(waitingScript(site.path)));
  await expect.poll(() => existsSync(join(site.path, 'begun')), { timeout: 60_000 }).toBe(true);

  const ordered = await orderUpdate(hub);
  expect(ordered).toMatchObject({ status: 200, body: { updatable: true, system: SYSTEM } });
  await expect.poll(async () => (await updateState(hub)).body.phase, { timeout: 60_000 }).toBe('WAITING');
  writeFileSync(join(site.path, 'go'), '');
  expect(outputsOf(await client.batchJobResult(running))).toEqual({ 'v.txt': agent });

  const current = () => updateState(hub).then(({ body }) => body.running);
  await expect.poll(current, { timeout: 60_000 }).toContain(`${buildInfo.version}-`);
  const id = await client.createBatchJob(scriptJob(TELLS_ITS_PROGRAM));
  const result = await client.batchJobResult(id);
  const program = join(site.path, 'host/data/versions', `${await current()}`, 'workbench-agent');
  expect(outputsOf(result)).toEqual({ 'v.txt': program });
  expect(execFileSync(agent, ['--version'], { encoding: 'utf8' })).toBe(`${OLD}\n`);
  expect(execFileSync(agent, ['--config', config, '--check-config'], { encoding: 'utf8' })).toContain(
    'valid',
  );
  expect((await orderUpdate(hub)).body).toMatchObject({ phase: 'IDLE' });

  expect(await first.stop()).toBe(0);
  start();
  await expect.poll(current, { timeout: 60_000 }).toContain(`${buildInfo.version}-`);
});

it('updates an agent without being asked, if it is in a group', async () => {
  const groups = [{ labels: ['belts'] }];
  const folder = folderOf(buildInfo.version);
  const hub = await startHub(site.path, { agents: { enrolledOnly: true, updates: { folder, groups } } });
  (await install(hub, OLD, ['belts'])).start();
  const running = () => updateState(hub).then(({ body }) => body.running);
  await expect.poll(running, { timeout: 120_000 }).toContain(`${buildInfo.version}-`);
  const { version } = buildInfo;
  const done = { version, progress: 'DONE', running: await running(), changedAt: expect.any(String) };
  await expect.poll(() => listedUpdate(hub), { timeout: 60_000 }).toEqual(done);
  expect(await wbAgents(hub)).toMatch(new RegExp(`^${AGENT_ID} .* FILE +DONE ${version} `, 'm'));
});

it('follows a hub that has gone back to an older version, if it is in a group', async () => {
  const updates = { folder: folderOf(buildInfo.version), groups: [{ labels: [] }] };
  const hub = await startHub(site.path, { agents: { enrolledOnly: true, updates } });
  (await install(hub, NEWER)).start();
  const running = () => updateState(hub).then(({ body }) => body.running);
  await expect.poll(running, { timeout: 120_000 }).toContain(`${buildInfo.version}-`);
  const client = restClient(hub.baseUrl);
  const result = await client.batchJobResult(await client.createBatchJob(scriptJob(TELLS_ITS_PROGRAM)));
  expect(outputsOf(result)['v.txt']).toContain(`/versions/${buildInfo.version}-`);
});

it('goes back from a version that crashes, tells its log, and does not try it again by itself', async () => {
  const bad = join(site.path, 'bad');
  offerAgentFile(bad, "#!/bin/sh\necho 'the library of tomorrow is missing' >&2\nexit 1\n", SYSTEM);
  const hub = await startHub(site.path, configOf(bad));
  const { agent, start } = await install(hub, OLD);
  const program = start();
  await expect.poll(async () => (await updateState(hub)).status, { timeout: 60_000 }).toBe(200);

  expect((await orderUpdate(hub)).status).toBe(200);
  const failed = async () => (await updateState(hub)).body.failed;
  await expect.poll(failed, { timeout: 60_000 }).toMatchObject({
    version: expect.stringContaining(`${buildInfo.version}-`),
    reason: 'it ended with exit code 1',
    log: 'the library of tomorrow is missing\n',
  });
  const client = restClient(hub.baseUrl);
  const id = await client.createBatchJob(scriptJob(TELLS_ITS_PROGRAM));
  expect(outputsOf(await client.batchJobResult(id))).toEqual({ 'v.txt': agent });
  expect(await orderUpdate(hub)).toMatchObject({
    status: 409,
    body: { message: expect.stringMatching(/has failed there: it ended with exit code 1$/) },
  });
  expect(await program.stop()).toBe(0);
});

it('does not update an agent that is not one file, and says why', async () => {
  const hub = await startHub(site.path, {
    agents: { updates: { folder: folderOf(buildInfo.version) } },
  });
  startAgent(site.path, hub, AGENT_ID, { instances: [] });
  await expect.poll(async () => (await updateState(hub)).status, { timeout: 60_000 }).toBe(200);
  const reason = 'this agent runs from a clone of the sources: update and build that';
  expect((await updateState(hub)).body).toMatchObject({ updatable: false, reason });
  expect(await orderUpdate(hub)).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining(reason) },
  });
  expect(await listedUpdate(hub)).toEqual({ version: buildInfo.version, progress: 'UNABLE' });
  expect(await wbAgents(hub)).toMatch(new RegExp(`^${AGENT_ID} .* CHECKOUT +UNABLE `, 'm'));
});

/** Update of the agent as the list of agents has it. */
async function listedUpdate({ baseUrl }: HubProgram): Promise<unknown> {
  const response = await fetch(`${baseUrl}/api/x/agents`);
  const { content } = (await response.json()) as { content: { id: string; update?: unknown }[] };
  return content.find(({ id }) => id === AGENT_ID)?.update;
}

/** Table of `wb agents`. */
async function wbAgents({ baseUrl }: HubProgram): Promise<string> {
  return (await callWb(site.path, baseUrl, ['agents']).outcome).stdout;
}

function configOf(folder: string) {
  return { agents: { enrolledOnly: true, updates: { folder } } };
}

/** An enrolled agent of a version in a folder of its own. */
function install(hub: HubProgram, version: string, labels?: readonly string[]) {
  const file = packagedAgent(folderOf(version), version);
  return installAgent(site.path, file, [{ ...hub, folder: site.path }], labels);
}
