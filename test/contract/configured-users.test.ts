/** Users of the configuration, which each start applies (contract 8.7). */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Role } from '@workbench-hub/hub/core/access';
import { Users } from '@workbench-hub/hub/engine/accounts/users';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AUTH, type LoggedIn, logIn, statusFor } from '../support/hubs/login.js';
import { passwordOf, quickPasswords, type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { LOG_LEVEL } from '../support/memory-log.js';
import { TESTED_STORE, withAccountsOf } from '../support/stores/tested-store.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;
let dataDir: string;
let hub: RunningHub | undefined;
let api: Api;
beforeEach(async () => {
  folder = await temporaryFolder();
  dataDir = join(folder.path, 'data');
});
afterEach(async () => {
  await hub?.stop();
  await folder.remove();
});

async function startWith(users: Readonly<Record<string, readonly Role[]>>): Promise<void> {
  await hub?.stop();
  hub = await startHub({ dataDir, users });
  api = new Api(hub);
}

/** Effect of `workbench-hub user …`. */
async function byCommand(action: (users: Users) => Promise<void>): Promise<void> {
  await withAccountsOf(dataDir, ({ users: store }) =>
    action(new Users({ store, passwords: quickPasswords, clock: systemRuntime.clock })),
  );
}

// Hubs that start at the same time log the same.
const warnings = () => [
  ...new Set(hub?.log.filter(({ level }) => level === LOG_LEVEL.WARN).map(({ msg }) => msg)),
];

describe('a configured user', () => {
  let session: LoggedIn;
  beforeEach(async () => {
    await startWith({ carl: ['USER'], anna: ['ADMIN'] });
    session = await logIn(api, 'carl');
  });

  it('that is still listed keeps the session', async () => {
    await startWith({ carl: ['USER'], anna: ['ADMIN'] });
    expect(await statusFor(api, session.accessToken)).toBe(200);
  });

  it('that is listed with other roles keeps the session and has those roles', async () => {
    await startWith({ carl: ['VIEWER'] });
    const create = '/api/2.0/workbench/task/simulate-work/create';
    expect((await api.as(session.accessToken).post(create, { duration: 1 })).status).toBe(403);
  });

  it('that is no longer listed loses all sessions, and does not get them back later', async () => {
    await startWith({ anna: ['ADMIN'] });
    expect(await statusFor(api, session.accessToken)).toBe(401);
    expect((await api.post(AUTH.LOGIN, { username: 'carl', password: passwordOf('carl') })).status).toBe(401);
    await startWith({ carl: ['USER'], anna: ['ADMIN'] });
    expect(await statusFor(api, session.accessToken)).toBe(401);
    await logIn(api, 'carl');
  });

  it('that is listed with another password has to log in again', async () => {
    await hub?.stop();
    const passwordHash = await quickPasswords.hash('another password');
    const users = [{ username: 'carl', passwordHash, roles: ['USER' as const] }];
    hub = await startHub({ dataDir, config: { security: { enabled: true, users } } });
    api = new Api(hub);
    expect(await statusFor(api, session.accessToken)).toBe(401);
    expect((await api.post(AUTH.LOGIN, { username: 'carl', password: passwordOf('carl') })).status).toBe(401);
    expect((await api.post(AUTH.LOGIN, { username: 'carl', password: 'another password' })).status).toBe(200);
  });
});

describe('a configuration with users', () => {
  beforeEach(async () => {
    await startWith({ anna: ['ADMIN'] });
    await byCommand((users) => users.add('carl', passwordOf('carl'), ['VIEWER']));
  });

  it('does not change users that a command added, over restarts', async () => {
    const session = await logIn(api, 'carl');
    await startWith({ anna: ['ADMIN'] });
    expect(await statusFor(api, session.accessToken)).toBe(200);
    expect(warnings()).toEqual([]);
  });

  it('takes over a user that a command added, and logs that', async () => {
    await startWith({ carl: ['ADMIN'] });
    expect((await (await api.asUser('carl')).get('/api/2.0/monitoring/server-info')).status).toBe(200);
    expect(warnings()).toEqual(['this user was created by a command; the configuration now defines it']);
    await expect(byCommand((users) => users.setDisabled('carl', true))).rejects.toThrow(
      'carl comes from the configuration file: change it there, and restart the hub',
    );
  });
});

describe('a start without users', () => {
  const NOBODY = /there is no user yet, so nobody can log in: workbench-hub user add NAME --role ADMIN$/;

  it('logs a warning with how to add one', async () => {
    await startWith({});
    expect(warnings()).toEqual([expect.stringMatching(NOBODY)]);
    await byCommand((users) => users.add('carl', passwordOf('carl'), ['VIEWER']));
    await logIn(api, 'carl');
    await startWith({});
    expect(warnings()).toEqual([]);
  });
});

it.skipIf(process.platform === 'win32')('only the user of the hub can read accounts and keys', async () => {
  await startWith({ anna: ['ADMIN'] });
  await logIn(api, 'anna');
  const onFiles = ['accounts.sqlite', 'accounts.sqlite-wal', 'accounts.sqlite-shm'];
  const files = TESTED_STORE === 'sqlite' ? onFiles : ['database-confirmed'];
  for (const name of [...files, 'token-keys.json']) {
    expect((await stat(join(dataDir, name))).mode & 0o777, name).toBe(0o600);
  }
});
