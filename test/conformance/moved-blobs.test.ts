/** Blobs of the local folder, which a start moves to the configured place. */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BlobCatalogue } from '@workbench-hub/hub/core/ports/blob-catalogue';
import { openPlace } from '@workbench-hub/hub/files/open-place';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { expect, it, onTestFinished } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { ObjectStore } from '../support/stores/object-store.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { openOnSqlite } from './open-task-stores.js';

it('a blob leaves the local folder when its name in the catalogue outlives a loss of power', async () => {
  const [store, tasks, folder] = await Promise.all([ObjectStore.start(), openOnSqlite(), temporaryFolder()]);
  onTestFinished(async () => {
    await store.stop();
    await tasks.close();
    await folder.remove();
  });
  const content = randomBytes(50_000);
  const name = createHash('sha256').update(content).digest('hex');
  const path = join(folder.path, name.slice(0, 2), name);
  await mkdir(dirname(path));
  await writeFile(path, content);
  const steps: [string, boolean][] = [];
  const { blobCatalogue } = tasks;
  const catalogue: BlobCatalogue = {
    ...blobCatalogue,
    add: async (...entry) => {
      const object = await blobCatalogue.add(...entry);
      steps.push(['added', existsSync(path)]);
      return object;
    },
    remove: async (files) => {
      const objects = await blobCatalogue.remove(files);
      steps.push(['durable', existsSync(path)]);
      return objects;
    },
  };
  const opened = await openPlace(
    { folder: null, s3: store.settings },
    {
      ...{ localFolder: folder.path, catalogue, encryptionKey: Buffer.alloc(32), ca: null },
      ...{ runtime: systemRuntime, log: memoryLog().log },
    },
  );
  onTestFinished(() => opened.close());
  expect(steps).toEqual([
    ['added', true],
    ['durable', true],
  ]);
  expect(existsSync(path)).toBe(false);
  expect(await opened.place.find(name)).toMatchObject({ sizeBytes: content.length });
});
