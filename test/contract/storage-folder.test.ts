/** A hub whose blobs are in a folder of the configuration. */
import { randomBytes } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { hub, hubForEachTest, replaceHub } from '../support/hubs/hub-for-tests.js';
import { startHub } from '../support/hubs/running-hub.js';
import { blobFiles, exists, upload } from '../support/interface/input-storage.js';
import { sha256Of } from '../support/interface/resumable-uploads.js';
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

it('the start is refused for a folder that cannot be used', async () => {
  const { path } = await folderForTest();
  await writeFile(`${path}/file`, '');
  await expect(startHub({ config: { storage: { folder: `${path}/file/files` } } })).rejects.toThrow(
    `storage.folder: ${path}/file/files cannot be used (ENOTDIR): correct the path`,
  );
});
