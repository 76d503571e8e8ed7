/** Keys of hubs on a database, sealed under the storage key. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { logIn, statusFor } from '../support/hubs/login.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/stores/postgres.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const newKey = () => randomBytes(32).toString('base64');

describe.runIf(hasPostgres)('the keys of hubs on a database', () => {
  let folder: TemporaryFolder;
  let database: TestDatabase;
  let hubs: RunningHub[];

  beforeEach(async () => {
    folder = await temporaryFolder();
    database = await migratedDatabase();
    hubs = [];
  });
  afterEach(async () => {
    for (const hub of hubs) await hub.stop();
    await database.drop();
    await folder.remove();
  });

  async function start(name: string, encryptionKey: string | null): Promise<RunningHub> {
    const hub = await startHub({
      users: USERS,
      dataDir: join(folder.path, name),
      config: {
        store: database.url,
        agents: { token: null },
        storage: { folder: join(folder.path, 'blobs'), encryptionKey },
      },
    });
    hubs.push(hub);
    return hub;
  }
  const fileOf = (name: string, file: string) => readFile(join(folder.path, name, file), 'utf8');
  const rows = async () => {
    const text = 'SELECT name, content FROM key_file ORDER BY name';
    return database.query<{ name: string; content: string }>(text);
  };
  const sealed = async () =>
    (await rows()).map(({ name, content }) => [name, content.startsWith('sealed:1:')]);

  it('are sealed in it with one hub too, and shared by those that have the key', async () => {
    const key = newKey();
    const first = await start('first', key);
    const { accessToken } = await logIn(new Api(first), 'ulla');
    expect((await rows()).map(({ name }) => name)).toEqual([
      'agent-token',
      'cluster-id',
      'manifest-keys',
      'seal',
      'token-keys.json',
      'update-keys',
    ]);
    const secret = /"secret": *"([^"]+)"/.exec(await fileOf('first', 'token-keys.json'))?.[1] ?? '';
    expect(secret).toHaveLength(43);
    const stored = JSON.stringify(await rows());
    for (const kept of [secret, (await fileOf('first', 'agent-token')).trim(), key])
      expect(stored).not.toContain(kept);
    const second = await start('second', key);
    expect(await statusFor(new Api(second), accessToken)).toBe(200);
    for (const file of ['agent-token', 'manifest-keys', 'update-keys', 'token-keys.json'])
      expect(await fileOf('second', file)).toBe(await fileOf('first', file));
  });

  it('are sealed with the key in its data folder by a hub without the setting, and shared once others have that key', async () => {
    const first = await start('first', null);
    expect(first.log.some(({ msg }) => /in clear/.test(String(msg)))).toBe(false);
    const { accessToken } = await logIn(new Api(first), 'ulla');
    expect(await sealed()).toEqual([
      ['agent-token', true],
      ['cluster-id', true],
      ['manifest-keys', true],
      ['seal', true],
      ['token-keys.json', true],
      ['update-keys', true],
    ]);
    await expect(start('second', null)).rejects.toThrow(
      /this one has no key for it: .* file storage-key in the dataDir of the hub that runs/,
    );
    const second = await start('second', (await fileOf('first', 'storage-key')).trim());
    expect(await statusFor(new Api(second), accessToken)).toBe(200);
  });

  it('are of no use to a hub with another key, or without one, which does not start', async () => {
    await start('first', newKey());
    await expect(start('other', newKey())).rejects.toThrow(/sealed with another key: set the same/);
    await expect(start('without', null)).rejects.toThrow(
      /this one has no key for it: set the same storage\.encryptionKey/,
    );
  });

  it('of one hub are there when hubs with different keys start at the same time, and the others are refused', async () => {
    const starts = await Promise.allSettled(['a', 'b', 'c'].map((name) => start(name, newKey())));
    const refused = starts.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(2);
    for (const { reason } of refused as PromiseRejectedResult[])
      expect(String(reason)).toMatch(/sealed with another key/);
    await hubs[0]?.stop();
    const name = ['a', 'b', 'c'][starts.findIndex(({ status }) => status === 'fulfilled')] ?? '';
    const again = await start(name, hubs[0]?.config.storage.encryptionKey ?? null);
    await logIn(new Api(again), 'ulla');
  });

  it('are sealed again when the only hub gets another key', async () => {
    const first = await start('hub', null);
    const { accessToken } = await logIn(new Api(first), 'ulla');
    await first.stop();
    const key = newKey();
    const again = await start('hub', key);
    expect(await statusFor(new Api(again), accessToken)).toBe(200);
    const second = await start('second', key);
    expect(await statusFor(new Api(second), accessToken)).toBe(200);
  });

  it('of an earlier version stay in clear until there is a key, which seals them at the first start, and stay the same', async () => {
    for (const [name, content] of Object.entries({
      'agent-token': 'token-of-earlier',
      'storage-key': newKey(),
    }))
      await database.query(`INSERT INTO key_file (name, content) VALUES ('${name}', '${content}')`);
    const clear = await start('hub', null);
    const { accessToken } = await logIn(new Api(clear), 'ulla');
    expect(clear.log.some(({ msg }) => /in its database in clear/.test(String(msg)))).toBe(true);
    await clear.stop();
    expect(await sealed()).toEqual([
      ['agent-token', false],
      ['cluster-id', false],
      ['manifest-keys', false],
      ['storage-key', false],
      ['token-keys.json', false],
      ['update-keys', false],
    ]);
    const sealing = await start('hub', newKey());
    expect(await statusFor(new Api(sealing), accessToken)).toBe(200);
    expect(await fileOf('hub', 'agent-token')).toBe('token-of-earlier');
    await sealing.stop();
    expect(await sealed()).toEqual([
      ['agent-token', true],
      ['cluster-id', true],
      ['manifest-keys', true],
      ['seal', true],
      ['token-keys.json', true],
      ['update-keys', true],
    ]);
  });
});
