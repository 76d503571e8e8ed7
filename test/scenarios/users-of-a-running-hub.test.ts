/** Changes of users by commands take effect in the running hub at once, without a restart. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { base64, restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startAgent, startHub } from '../support/programs/programs.js';
import { runCommand } from '../support/programs/run-command.js';
import { keepSecret } from '../support/secrets.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

/** A dozen processes start one after the other. */
const TIMEOUT_MS = 120_000;
vi.setConfig({ testTimeout: TIMEOUT_MS });

const AUTH = '/api/2.0/auth';
const TASKS = '/api/2.0/workbench/task';
const FIRST = 'the first password of nora';
const SECOND = 'the second password of nora';

let folder: TemporaryFolder;
let hub: HubProgram;

beforeEach(async () => {
  folder = await temporaryFolder();
  hub = await startHub(folder.path, { security: { enabled: true } });
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

/** Runs `workbench-hub user …` and returns its output. */
async function user(words: string, input = ''): Promise<string> {
  const args = ['user', ...words.split(' '), '--config', 'hub.yaml'];
  const { code, stdout, stderr } = await runCommand('hub/bin/workbench-hub.js', args, {
    cwd: folder.path,
    input: `${input}\n`,
  });
  expect(code, stderr).toBe(0);
  for (const secret of [FIRST, SECOND]) expect(stdout + stderr).not.toContain(secret);
  return stdout;
}

const call = (path: string, init?: RequestInit) => restClient(hub.baseUrl).call(path, init);

async function logIn(password: string): Promise<{ status: number; token: string }> {
  keepSecret(password);
  const { status, json } = await call(`${AUTH}/login`, {
    method: 'POST',
    body: JSON.stringify({ username: 'nora', password }),
  });
  return { status, token: status === 200 ? (json() as { accessToken: string }).accessToken : '' };
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

const statusOf = async (path: string, token: string) => (await call(path, bearer(token))).status;

const createStatus = async (token: string) =>
  (await call(`${TASKS}/simulate-work/create`, { method: 'POST', body: '{"duration":0}', ...bearer(token) }))
    .status;

it('a user is added, given roles and a password, disabled, enabled and removed', async () => {
  expect((await logIn(FIRST)).status).toBe(401);
  await user('add nora --role VIEWER', FIRST);
  const { token } = await logIn(FIRST);
  expect(await statusOf(`${TASKS}/list`, token)).toBe(200);
  expect(await createStatus(token)).toBe(403);

  await user('roles nora USER');
  expect(await createStatus(token)).toBe(201);
  expect(await user('list')).toMatch(/^nora +USER +enabled +command$/m);

  await user('passwd nora', SECOND);
  expect(await statusOf(`${TASKS}/list`, token)).toBe(401);
  expect((await logIn(FIRST)).status).toBe(401);
  const second = await logIn(SECOND);
  expect(await statusOf(`${TASKS}/list`, second.token)).toBe(200);

  await user('disable nora');
  expect(await statusOf(`${TASKS}/list`, second.token)).toBe(401);
  expect((await logIn(SECOND)).status).toBe(401);
  await user('enable nora');
  const third = await logIn(SECOND);
  expect(await statusOf(`${TASKS}/list`, third.token)).toBe(200);

  await user('remove nora');
  expect(await statusOf(`${TASKS}/list`, third.token)).toBe(401);
  expect((await logIn(SECOND)).status).toBe(401);
});

it('the files of the hub are accessible to its own user only', async () => {
  await user('add nora --role VIEWER', FIRST);
  const dataDir = join(folder.path, 'hub');
  for (const name of ['.', ...(await readdir(dataDir, { recursive: true }))]) {
    expect((await stat(join(dataDir, name))).mode & 0o077, name).toBe(0);
  }
});

it('secrets of users and agents are in no log, and their actions in the audit log', async () => {
  await user('add nora --role ADMIN', FIRST);
  const { token } = await logIn(FIRST);
  startAgent(folder.path, hub, 'sim-host', {
    instances: [{ id: 'sim', version: '1' }],
    log: { level: 'debug' },
  });
  const made = await call('/api/x/tokens', { method: 'POST', body: '{"name":"nightly"}', ...bearer(token) });
  expect(made.status).toBe(201);
  const personal = (made.json() as { token: string }).token;
  const job = await call(`${TASKS}/execute-batch-job/create`, {
    method: 'POST',
    body: JSON.stringify({ inputScripts: [{ content: base64('console.log(1)') }] }),
    ...bearer(personal),
  });
  const { id } = job.json() as { id: string };
  const result = await call(`${TASKS}/execute-batch-job/${id}/result?timeout=30`, bearer(personal));
  expect(result.json()).toMatchObject({ status: 'FINISHED' });

  const audit = await call('/api/x/audit', bearer(token));
  const entries = (audit.json() as { entries: { action: string; by?: string; user?: string }[] }).entries;
  expect(entries.map(({ action, by }) => [action, by])).toEqual(
    expect.arrayContaining([
      ['COMMAND', 'COMMAND_LINE'],
      [`POST ${AUTH}/login`, 'PASSWORD'],
      ['AGENT_JOIN', 'AGENT_TOKEN'],
      ['POST /api/x/tokens', 'SESSION'],
      [`POST ${TASKS}/execute-batch-job/create`, 'PERSONAL_TOKEN'],
    ]),
  );
});
