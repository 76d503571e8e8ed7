/** A hub whose blobs are in a folder of the configuration. */
import { randomBytes } from 'node:crypto';
import { readdir, symlink, writeFile } from 'node:fs/promises';
import { backUp } from '@workbench-hub/hub/commands/backup/back-up';
import { checkPlace } from '@workbench-hub/hub/files/inspect-place';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { expect, it, onTestFinished } from 'vitest';
import { hub, hubForEachTest, replaceHub } from '../support/hubs/hub-for-tests.js';
import { startHub } from '../support/hubs/running-hub.js';
import { blobFiles, exists, upload } from '../support/interface/input-storage.js';
import { sha256Of } from '../support/interface/resumable-uploads.js';
import { TESTED_STORE } from '../support/stores/tested-store.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

hubForEachTest();

async function folderForTest(): Promise<TemporaryFolder> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  return folder;
}

it('blobs move there at the start, and new ones are put there', async () => {
  const { path } = await folderForTest();
  const dataDir = `${path}/data`;
  const [former, later] = [randomBytes(100_000), randomBytes(100_001)];
  await replaceHub({ dataDir });
  await upload('former.bin', former);
  await replaceHub({ dataDir, config: { storage: { folder: `${path}/files` } } });
  expect(hub.log).toContainEqual(expect.objectContaining({ moved: 1 }));
  await upload('later.bin', later);
  expect((await blobFiles()).filter((file) => file.startsWith(dataDir))).toEqual([]);
  const names = (await readdir(`${path}/files`, { recursive: true })).filter((name) => name.length > 64);
  expect(names.map((name) => name.slice(3)).sort()).toEqual([sha256Of(former), sha256Of(later)].sort());
  for (const [name, content] of [
    ['former.bin', former],
    ['later.bin', later],
  ] as const) {
    expect(await exists(name)).toBe(true);
    const headers = { authorization: `Bearer ${hub.token}` };
    const answer = await fetch(`${hub.address}/agent/files/${sha256Of(content)}`, { headers });
    expect(sha256Of(Buffer.from(await answer.arrayBuffer()))).toBe(sha256Of(content));
  }
  // The folder ends with the test.
  await hub.stop();
});

it.each([
  ['its path', async (_: string, files: string) => files],
  [
    'a symbolic link',
    async (path: string, files: string) => {
      await symlink(files, `${path}/link`);
      return `${path}/link`;
    },
  ],
])('the folder in dataDir stays the local one when it is named by %s', async (_, nameOf) => {
  const { path } = await folderForTest();
  const dataDir = `${path}/data`;
  const content = randomBytes(100_000);
  await replaceHub({ dataDir });
  await upload('model.bin', content);
  const localFolder = `${dataDir}/files`;
  const folder = await nameOf(path, localFolder);
  await replaceHub({ dataDir, config: { storage: { folder } } });
  const headers = { authorization: `Bearer ${hub.token}` };
  const answer = await fetch(`${hub.address}/agent/files/${sha256Of(content)}`, { headers });
  expect(sha256Of(Buffer.from(await answer.arrayBuffer()))).toBe(sha256Of(content));
  const { config } = hub;
  expect(await checkPlace(config.storage, { localFolder, ca: null })).toEqual([]);
  if (TESTED_STORE === 'sqlite') {
    const options = { overwrite: false, audit: false, incomplete: false, tell: () => undefined };
    const made = await backUp({ config, file: `${path}/hub.tar`, clock: systemRuntime.clock, ...options });
    expect(made).toMatchObject({ blobs: 1, missing: [] });
  }
  await hub.stop();
});

it('the start is refused for a folder that cannot be used', async () => {
  const { path } = await folderForTest();
  await writeFile(`${path}/file`, '');
  await expect(startHub({ config: { storage: { folder: `${path}/file/files` } } })).rejects.toThrow(
    `storage.folder: ${path}/file/files cannot be used (ENOTDIR): correct the path`,
  );
});
