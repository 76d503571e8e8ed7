/** Places for the suite of places, each with files of its own. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BlobCatalogue } from '@workbench-hub/hub/core/ports/blob-catalogue';
import { systemDisk } from '@workbench-hub/hub/files/blob-disk';
import { FolderPlace } from '@workbench-hub/hub/files/folder-place';
import { openS3Place } from '@workbench-hub/hub/files/s3/open-s3-place';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { memoryLog } from '../support/memory-log.js';
import { ObjectStore } from '../support/stores/object-store.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import type { PlaceUnderTest } from './blob-place-suite.js';
import type { OpenStore } from './store-under-test.js';

/** `isElsewhere` for a folder into which files are copied, since it is on another file system. */
export async function openInFolder(isElsewhere: boolean): Promise<PlaceUnderTest> {
  const folder = await temporaryFolder();
  const runtime = new HandDrivenRuntime();
  const copiesIn = isElsewhere ? join(folder.path, 'incoming') : null;
  const open = () =>
    FolderPlace.open({ folder: folder.path, disk: systemDisk, runtime, copiesIn }, Buffer.alloc(32, 'key'));
  return {
    place: await open(),
    runtime,
    other: open,
    files: async () => {
      const entries = await readdir(folder.path, { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).length;
    },
    close: folder.remove,
  };
}

export interface S3UnderTest extends PlaceUnderTest {
  readonly store: ObjectStore;
  readonly catalogue: BlobCatalogue;
  /** Log lines so far. */
  readonly log: ReturnType<typeof memoryLog>;
  readonly isUsable: () => boolean;
}

/** A place in an object store, with a catalogue in the store that `openStore` opens. */
export async function openInObjectStore(openStore: OpenStore): Promise<S3UnderTest> {
  const [store, tasks] = await Promise.all([ObjectStore.start(), openStore()]);
  const runtime = new HandDrivenRuntime();
  const catalogue = tasks.blobCatalogue;
  // Pauses between tries pass by themselves; the test advances the rest.
  const after = (delayMs: number, action: () => void) =>
    (delayMs <= 1000 ? systemRuntime : runtime).timers.after(delayMs, action);
  const mixed: Runtime = {
    clock: runtime.clock,
    timers: { ...runtime.timers, after },
    random: () => runtime.random(),
    newId: () => runtime.newId(),
  };
  const log = memoryLog();
  const opened: { close(): void }[] = [];
  const open = async () => {
    const place = await openS3Place(store.settings, { catalogue, ca: null, runtime: mixed, log: log.log });
    opened.push(place);
    return place;
  };
  const { place, isUsable } = await open();
  return {
    place,
    isUsable,
    runtime,
    store,
    catalogue,
    log,
    other: async () => (await open()).place,
    files: async () => (await store.keys()).length,
    close: async () => {
      for (const { close } of opened) close();
      await store.stop();
      await tasks.close();
    },
  };
}
