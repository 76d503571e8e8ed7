/** The check for secrets in logs, which runs at each stop of a hub under test, finds one. */
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { logIn } from '../support/hubs/login.js';
import { passwordOf, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { keptInStore } from '../support/stores/tested-store.js';
import { temporaryFolder } from '../support/temporary-folder.js';

it.each([
  ['a password', async () => passwordOf('anna')],
  ['an access token', async (api: Api) => (await api.asUser('anna')).token],
  [
    'the cookie of a session',
    async (api: Api) => {
      const { headers } = await api.post('/api/2.0/auth/login', {
        username: 'anna',
        password: passwordOf('anna'),
      });
      return /refreshToken=([^;]+)/.exec(headers.getSetCookie()[0] ?? '')?.[1];
    },
  ],
])('the check of logs finds %s in the audit log', async (_, secretOf) => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const hub = await startHub({ users: USERS, dataDir: folder.path });
  const api = new Api(hub);
  await api.asUser('anna');
  const secret = await secretOf(api);
  mkdirSync(join(folder.path, 'audit'), { recursive: true });
  appendFileSync(join(folder.path, 'audit', 'audit.log'), `{"detail":${JSON.stringify(secret)}}\n`);
  await expect(hub.stop()).rejects.toThrow(/audit\.log holds the secret/);
});

it('the check of logs finds the join token', async () => {
  const hub = await startHub();
  (hub.log as { msg: string; level: number }[]).push({ level: 30, msg: `it says ${hub.token}` });
  await expect(hub.stop()).rejects.toThrow(/the log of the hub holds the secret/);
});

it('the store has none of the secrets that a hub gives out or receives', async () => {
  const hub = await startHub({ users: USERS });
  onTestFinished(hub.stop);
  const anonymous = new Api(hub);
  const anna = await anonymous.asUser('anna');
  const { cookie, accessToken } = await logIn(anonymous, 'ulla');
  const { status, body } = await anna.post('/api/x/tokens', {
    name: 'kept',
    expiresInDays: 1,
    role: 'ADMIN',
  });
  expect(status).toBe(201);
  const code = await anna.post('/api/x/agents', { id: 'kept-host' });
  expect(code.status).toBe(201);
  await anna.simulateWork({ name: 'kept task' });
  const kept = await keptInStore(hub.config.dataDir);
  for (const name of ['kept-host', 'kept task', 'ulla']) expect(kept).toContain(name);
  const given = [cookie.split('=')[1], accessToken, anna.token, body['token'], code.body['code']].map(String);
  for (const secret of [...given, passwordOf('anna'), passwordOf('ulla'), hub.token]) {
    expect(secret.length).toBeGreaterThan(10);
    expect(kept).not.toContain(secret.replace('wbh_', ''));
  }
});
