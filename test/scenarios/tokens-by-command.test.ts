/** Personal tokens by commands beside the running hub. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { runCommand } from '../support/programs/run-command.js';
import { keepSecret } from '../support/secrets.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

/** A dozen processes start one after the other. */
const TIMEOUT_MS = 120_000;
vi.setConfig({ testTimeout: TIMEOUT_MS });

const METRICS = '/actuator/prometheus';
const USER = '/api/2.0/user';
const PASSWORD = 'the password of nora';

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

/** Runs `workbench-hub …`. */
const command = (...words: string[]) =>
  runCommand('hub/bin/workbench-hub.js', [...words, '--config', 'hub.yaml'], {
    cwd: folder.path,
    input: `${PASSWORD}\n`,
  });

const statusOf = async (path: string, token: string) =>
  (await restClient(hub.baseUrl).call(path, { headers: { authorization: `Bearer ${token}` } })).status;

it('a token for the metrics is made by one command, listed and revoked', async () => {
  keepSecret(PASSWORD);
  expect((await command('user', 'add', 'nora', '--role', 'ADMIN')).code).toBe(0);
  const add = ['token', 'add', 'nora', '--name', 'prometheus', '--role', 'METRICS'];
  const { code, stdout, stderr } = await command(...add, '--days', '365');
  expect(code, stderr).toBe(0);
  const token = stdout.trim();
  expect(token).toMatch(/^wbh_[\w-]{43}$/);
  keepSecret(token);
  expect(stderr).toMatch(/^Valid as nora with the role METRICS until \d{4}-\d\d-\d\d, and shown only now/);
  const [, id = ''] = /token revoke (\S+)/.exec(stderr) ?? [];
  expect([await statusOf(METRICS, token), await statusOf(USER, token)]).toEqual([200, 403]);

  expect((await command('token', 'list', 'nora')).stdout).toMatch(
    new RegExp(`^${id} +METRICS +\\d{4}-\\d\\d-\\d\\d +\\S+ +prometheus$`, 'm'),
  );
  expect((await command('token', 'revoke', id)).stdout).toBe('The token "prometheus" of nora is revoked.\n');
  expect(await statusOf(METRICS, token)).toBe(401);
  expect(await command('token', 'revoke', id)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`there is no token with the id "${id}"`),
  });

  await command('user', 'roles', 'nora', 'USER');
  expect(await command(...add)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(
      '--role: a token of METRICS takes a user with the role ADMIN; nora has USER',
    ),
  });
  expect(await command('token', 'add', 'nobody', '--name', 'x', '--role', 'USER')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('there is no user "nobody": "workbench-hub user list" names all'),
  });
  expect(await command('token', 'add', 'nora', '--name', 'x', '--role', 'USER', '--days', '0')).toMatchObject(
    {
      code: 2,
      stderr: expect.stringContaining('--days: found "0", allowed: 1 to 366'),
    },
  );
});
