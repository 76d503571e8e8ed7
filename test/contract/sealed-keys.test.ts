/** Keys of hubs on a database, sealed under the configured storage key. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Api } from '../support/api.js';
import { logIn, statusFor } from '../support/login.js';
import { hasPostgres, migratedDatabase, type TestDatabase } from '../support/postgres.js';
import { type RunningHub, startHub, USERS } from '../support/running-hub.js';
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

  it('are sealed in it with one hub too, and shared by those that have the key', async () => {
    const key = newKey();
    const first = await start('first', key);
    const { accessToken } = await logIn(new Api(first), 'ulla');
    expect((await rows()).map(({ name }) => name)).toEqual(['agent-token', 'token-keys.json']);
    const secret = /"secret": *"([^"]+)"/.exec(await fileOf('first', 'token-keys.json'))?.[1] ?? '';
    expect(secret).toHaveLength(43);
    const stored = JSON.stringify(await rows());
    for (const kept of [secret, (await fileOf('first', 'agent-token')).trim(), key])
      expect(stored).not.toContain(kept);
    const second = await start('second', key);
    expect(await statusFor(new Api(second), accessToken)).toBe(200);
    for (const file of ['agent-token', 'token-keys.json'])
      expect(await fileOf('second', file)).toBe(await fileOf('first', file));
  });

  it('are of no use to a hub with another key, or without one, which does not start', async () => {
    await start('first', newKey());
    await expect(start('other', newKey())).rejects.toThrow(
      /sealed with another storage\.encryptionKey: set the same/,
    );
    await expect(start('without', null)).rejects.toThrow(
      /this one has no key for it: set the same storage\.encryptionKey/,
    );
  });

  it('that were there in clear are sealed by the first start with a key, and stay the same', async () => {
    const clear = await start('hub', null);
    const { accessToken } = await logIn(new Api(clear), 'ulla');
    expect(clear.log.some(({ msg }) => /in its database in clear/.test(String(msg)))).toBe(true);
    await clear.stop();
    expect((await rows()).map(({ name }) => name)).toContain('storage-key');
    const sealed = await start('hub', newKey());
    expect(await statusFor(new Api(sealed), accessToken)).toBe(200);
    expect((await rows()).map(({ name, content }) => [name, content.startsWith('sealed:1:')])).toEqual([
      ['agent-token', true],
      ['token-keys.json', true],
    ]);
  });
});
