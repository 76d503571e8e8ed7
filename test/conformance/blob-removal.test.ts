/** Removal of unreferenced blobs: soon after the last reference, or by a sweep. */
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import type { Hold, OtherHolders } from '@workbench-hub/hub/core/ports/blobs';
import { type BlobDisk, systemDisk } from '@workbench-hub/hub/files/blob-disk';
import { beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import {
  blobOf,
  blobStoreForEachTest,
  files,
  HOUR_MS,
  nameBlob,
  onDisk,
  refOf,
  reopen,
  restart,
  root,
  runtime,
  store,
} from './blob-store-for-each-test.js';
import { newTask } from './store-under-test.js';

blobStoreForEachTest();

describe('a blob', () => {
  const blob = blobOf(100_000);
  const small = blobOf(100);

  /** Gives both a name and removes it. */
  async function drop(): Promise<void> {
    for (const [name, ref] of [['a', refOf(blob)] as const, ['b', refOf(small)] as const]) {
      await nameBlob(name, ref);
      await store.namedObjects.remove('INPUT', name);
    }
  }
  const exist = async () => [
    (await onDisk()).length === 1,
    (await store.inlineBlobs.find(refOf(small).digest)) !== undefined,
  ];

  it('that is held stays without a reference, and is removed after its release', async () => {
    const hold = files.hold();
    for (const each of [blob, small]) await files.put(each, hold);
    await drop();
    await files.reclaim();
    expect(await exist()).toEqual([true, true]);
    runtime.skip(2 * HOUR_MS);
    expect(await files.sweep(HOUR_MS)).toBe(0);
    hold.release();
    await runtime.advance(1000);
    await files.reclaim();
    expect(await exist()).toEqual([false, false]);
    expect(await store.inlineBlobs.dropped(0, 10)).toEqual([]);
  });

  describe('beside another hub', () => {
    /** Names whose blobs the other hub holds; null while it cannot be asked. */
    let held: readonly string[] | null;
    /** Done while the other hub is asked. */
    let meanwhile: () => Promise<unknown>;
    let answer: (names: readonly string[]) => readonly string[];
    const others: OtherHolders = {
      isShared: () => true,
      heldOf: async () => {
        await meanwhile();
        return held && new Set(held);
      },
      serve: (heldOf) => {
        answer = heldOf;
      },
    };
    beforeEach(async () => {
      held = [];
      meanwhile = () => Promise.resolve();
      await reopen({ others });
    });
    const dropped = async () => {
      for (const each of [blob, small]) await files.put(each);
      await drop();
      await files.reclaim();
    };

    it('is removed at once when the other does not hold it, and as soon as it does not any more', async () => {
      held = [refOf(blob).digest];
      await dropped();
      expect(await exist()).toEqual([true, false]);
      held = [];
      await runtime.advance(1000);
      await files.reclaim();
      expect(await exist()).toEqual([false, false]);
      expect(await store.inlineBlobs.dropped(0, 10)).toEqual([]);
    });

    it('is removed later when its hold ends while another one is looked at', async () => {
      const another = blobOf(90_000);
      let hold: Hold | undefined;
      const stat: BlobDisk['stat'] = (path) => {
        if (path.includes(refOf(another).digest)) hold?.release();
        return systemDisk.stat(path);
      };
      await reopen({ others, disk: { ...systemDisk, stat } });
      for (const each of [blob, small, another]) await files.put(each);
      await nameBlob('c', refOf(another));
      await drop();
      await store.namedObjects.remove('INPUT', 'c');
      hold = files.hold();
      hold.add(refOf(blob));
      await files.reclaim();
      await runtime.advance(1000);
      await files.reclaim();
      expect(await onDisk()).toEqual([]);
      expect(await store.inlineBlobs.dropped(0, 10)).toEqual([]);
    });

    it('stays while the other cannot be asked, until nobody has used it for an hour', async () => {
      held = null;
      await dropped();
      expect(await exist()).toEqual([true, true]);
      runtime.skip(HOUR_MS + 1);
      await files.reclaim();
      expect(await exist()).toEqual([false, false]);
      expect(await store.inlineBlobs.dropped(0, 10)).toEqual([]);
    });

    it('stays when it is used while the other is asked, and goes when it is not any more', async () => {
      meanwhile = async () => {
        const nowMs = runtime.clock.nowMs();
        await store.inlineBlobs.renew(refOf(small).digest, nowMs);
        await utimes(join(root(), refOf(blob).digest.slice(0, 2), refOf(blob).digest), nowMs, nowMs);
      };
      await dropped();
      expect(await exist()).toEqual([true, true]);
      meanwhile = () => Promise.resolve();
      await files.reclaim();
      expect(await exist()).toEqual([false, false]);
      expect(await store.inlineBlobs.dropped(0, 10)).toEqual([]);
    });

    it('goes although the hub that began to remove it was killed meanwhile', async () => {
      let isAlive = true;
      const remove: BlobDisk['remove'] = async (path) => {
        isAlive &&= !path.includes(refOf(blob).digest);
        return isAlive ? systemDisk.remove(path) : new Promise<void>(() => undefined);
      };
      await reopen({ others, disk: { ...systemDisk, remove } });
      for (const each of [blob, small]) await files.put(each);
      await drop();
      void files.reclaim();
      await eventually(() => !isAlive);
      await reopen({ others });
      await files.reclaim();
      expect(await onDisk()).toEqual([]);
      expect(await store.inlineBlobs.dropped(0, 10)).toEqual([]);
    });

    it('stays when something refers to it after the other was asked', async () => {
      meanwhile = () => nameBlob('c', refOf(blob));
      await dropped();
      expect(await exist()).toEqual([true, false]);
    });

    it('is told to the other hub while it is held', async () => {
      const hold = files.hold();
      const ref = await files.put(blob, hold);
      const sealed = await files.storeEncrypted(Readable.from([blob]), 1e6, hold);
      const [name] = (await onDisk()).filter((path) => path.endsWith('.sealed')).map((path) => path.slice(3));
      const names = [ref.digest, name as string, refOf(small).digest];
      expect(answer(names)).toEqual([ref.digest, name]);
      hold.release();
      expect(answer(names)).toEqual([]);
      await files.find(sealed);
      expect(answer(names)).toEqual([name]);
    });

    it('that is held for long stays in a sweep', async () => {
      for (const each of [blob, small]) await files.put(each);
      await files.storeEncrypted(Readable.from([blob]), 1e6);
      const [name] = (await onDisk()).filter((path) => path.endsWith('.sealed')).map((path) => path.slice(3));
      runtime.skip(2 * HOUR_MS);
      held = [refOf(blob).digest, refOf(small).digest, name as string];
      expect(await files.sweep(HOUR_MS)).toBe(0);
      held = [];
      expect(await files.sweep(HOUR_MS)).toBe(3);
    });
  });

  it('that is stored again under a hold stays, though its removal has begun', async () => {
    const first = files.hold();
    await files.put(small, first);
    first.abandon();
    const second = files.hold();
    await files.put(small, second);
    await files.reclaim();
    expect((await store.inlineBlobs.find(refOf(small).digest))?.equals(small)).toBe(true);
    second.abandon();
    await files.reclaim();
    expect(await store.inlineBlobs.find(refOf(small).digest)).toBeUndefined();
  });

  it('that is held twice stays until both holds have ended', async () => {
    const [first, second] = [files.hold(), files.hold()];
    await files.put(blob, first);
    await files.find(refOf(blob), second);
    await files.put(small, second);
    await drop();
    first.abandon();
    await files.reclaim();
    expect(await exist()).toEqual([true, true]);
    second.abandon();
    await files.reclaim();
    expect(await exist()).toEqual([false, false]);
  });

  it('whose hold is abandoned is removed at once, unless something refers to it', async () => {
    const hold = files.hold();
    for (const each of [blob, small]) await files.put(each, hold);
    await nameBlob('a', refOf(blob));
    hold.abandon();
    await files.reclaim();
    expect(await exist()).toEqual([true, false]);
  });

  it('that was found stays for some seconds, so that it can be opened', async () => {
    for (const each of [blob, small]) await files.put(each);
    const file = await files.find(refOf(blob));
    await drop();
    await files.reclaim();
    expect((await file?.open().toArray())?.length).toBeGreaterThan(0);
    runtime.skip(5000);
    await files.reclaim();
    expect(await exist()).toEqual([false, false]);
  });

  it('that is stored while it is removed exists afterwards', async () => {
    for (let round = 0; round < 20; round++) {
      for (const each of [blob, small]) await files.put(each);
      await drop();
      const hold = files.hold();
      const [, ...refs] = await Promise.all([
        files.reclaim(),
        files.put(blob, hold),
        files.store(Readable.from([blob]), 1e6, hold),
        files.receive(refOf(blob), Readable.from([blob]), 0, hold),
        files.put(small, hold),
      ]);
      expect(refs[0]).toEqual(refOf(blob));
      await files.reclaim();
      expect(await exist()).toEqual([true, true]);
      hold.abandon();
      await files.reclaim();
    }
  });

  it('whose file cannot be removed keeps no other, and is removed as soon as it can be', async () => {
    const another = blobOf(100_000, 'another');
    let isStuck = true;
    const remove = async (path: string) => {
      if (isStuck && path.includes(refOf(blob).digest.slice(2))) throw new Error('EPERM');
      await systemDisk.remove(path);
    };
    await reopen({ disk: { ...systemDisk, remove } });
    for (const each of [blob, another]) {
      await files.put(each);
      await nameBlob('a', refOf(each));
      await store.namedObjects.remove('INPUT', 'a');
    }
    await files.reclaim();
    expect(await onDisk()).toHaveLength(1);
    expect(await store.inlineBlobs.dropped(0, 10)).toMatchObject([{ digest: refOf(blob).digest }]);
    isStuck = false;
    await files.reclaim();
    expect(await onDisk()).toEqual([]);
    expect(await store.inlineBlobs.dropped(0, 10)).toEqual([]);
  });

  describe('behind files that cannot be removed', () => {
    const last = blobOf(100_000, 'last');
    let isStuck: boolean;
    const refuse = (path: string) => {
      if (isStuck && !path.includes(refOf(last).digest)) throw new Error('EACCES');
    };
    const refusing: Partial<BlobDisk> = {
      remove: async (path) => {
        refuse(path);
        await systemDisk.remove(path);
      },
      rename: async (from, to) => {
        if (to.includes('leaving')) refuse(from);
        await systemDisk.rename(from, to);
      },
    };
    const others: OtherHolders = {
      isShared: () => true,
      heldOf: async () => new Set(),
      serve: () => undefined,
    };
    const dropAll = async (stuck: number) => {
      const blobs = Array.from({ length: stuck }, (_, at) => blobOf(70_000, `stuck ${at} `));
      for (const each of [...blobs, last]) {
        await files.put(each);
        await nameBlob('a', refOf(each));
        await store.namedObjects.remove('INPUT', 'a');
      }
    };
    const expectGone = async () => {
      expect(await onDisk()).toEqual([]);
      expect(await store.inlineBlobs.dropped(0, 10)).toEqual([]);
    };
    beforeEach(() => {
      isStuck = true;
    });

    it.each([
      ['alone', null],
      ['beside another hub', others],
    ] as const)('is removed at once, %s, though no other of a batch can be', async (_, besides) => {
      await reopen({ disk: { ...systemDisk, ...refusing }, others: besides });
      await dropAll(100);
      await files.reclaim();
      expect(await onDisk()).toHaveLength(100);
      isStuck = false;
      await files.reclaim();
      await expectGone();
    });

    it('is removed at once though they cannot even be looked at', async () => {
      let isUnreadable = false;
      const stat: BlobDisk['stat'] = async (path) => {
        if (isUnreadable) refuse(path);
        return systemDisk.stat(path);
      };
      await reopen({ disk: { ...systemDisk, stat }, others });
      await dropAll(2);
      isUnreadable = true;
      await files.reclaim();
      expect(await onDisk()).toHaveLength(2);
      isStuck = false;
      await files.reclaim();
      await expectGone();
    });
  });

  it('that a killed hub did not remove is removed after the restart', async () => {
    for (const each of [blob, small]) await files.put(each);
    await drop();
    await restart();
    await files.reclaim();
    expect(await exist()).toEqual([false, false]);
  });
});

describe('a sweep', () => {
  const named = blobOf(100_000, 'named');
  const orphan = blobOf(100_000, 'orphan');
  const touched = blobOf(100_000, 'touched');
  const small = blobOf(10, 'small');

  it('removes old blobs that no task refers to', async () => {
    for (const blob of [named, orphan, touched, small]) {
      await files.put(blob);
    }
    await store.queue.insert([
      newTask({
        job: {
          type: 'EXECUTE_BATCH_JOB',
          model: null,
          scripts: [refOf(named)],
          additionalFiles: [],
          variables: [],
        },
      }),
    ]);
    runtime.skip(HOUR_MS);
    expect(await files.sweep(HOUR_MS)).toBe(0);
    await files.put(touched);
    runtime.skip(1);
    expect(await files.sweep(HOUR_MS)).toBe(2);
    const exist: boolean[] = [];
    for (const blob of [named, orphan, touched, small]) {
      exist.push((await files.find(refOf(blob).digest)) !== undefined);
    }
    expect(exist).toEqual([true, false, true, false]);
  });

  it('leaves a blob that was found recently: a task may be about to refer to it', async () => {
    await files.put(orphan);
    runtime.skip(2 * HOUR_MS);
    await files.find(refOf(orphan).digest);
    expect(await files.sweep(HOUR_MS)).toBe(0);
    runtime.skip(HOUR_MS + 1);
    expect(await files.sweep(HOUR_MS)).toBe(1);
  });

  it('removes blobs that were stored while the clock was ahead, once they are old by the present clock', async () => {
    runtime.skip(1000 * HOUR_MS);
    for (const blob of [orphan, small]) await files.put(blob);
    runtime.skip(-1000 * HOUR_MS);
    await files.sweep(HOUR_MS);
    runtime.skip(HOUR_MS + 1);
    expect(await files.sweep(HOUR_MS)).toBe(2);
  });

  it('goes past files that cannot be removed', async () => {
    const stuck = new Set<string>();
    const refuse = (path: string) => {
      if (stuck.has(basename(path))) throw new Error('EACCES');
    };
    const disk: BlobDisk = {
      ...systemDisk,
      list: async (folder) => (await systemDisk.list(folder)).sort(),
      remove: async (path) => {
        refuse(path);
        await systemDisk.remove(path);
      },
      rename: async (from, to) => {
        refuse(from);
        await systemDisk.rename(from, to);
      },
    };
    await reopen({ disk });
    for (const blob of [named, orphan, touched]) await files.storeEncrypted(Readable.from([blob]), 1e6);
    const digestOf = (blob: Buffer) => refOf(blob).digest;
    const many = Array.from({ length: 500 }, (_, at) => blobOf(70_000, `many ${at} `)).sort((a, b) =>
      digestOf(a) < digestOf(b) ? -1 : 1,
    );
    const at = many.findIndex(
      (blob, of) => digestOf(blob).slice(0, 2) === digestOf(many[of + 1] ?? blob).slice(0, 2),
    );
    for (const blob of [...many.slice(at, at + 2), many.at(-1) as Buffer]) await files.put(blob);
    const names = (await onDisk()).map((path) => basename(path)).sort();
    expect(names).toHaveLength(6);
    const isSealed = (name: string) => name.endsWith('.sealed');
    for (const each of [names.filter(isSealed), names.filter((name) => !isSealed(name))])
      for (const name of each.slice(0, 2)) stuck.add(name);
    runtime.skip(HOUR_MS + 1);
    await expect(files.sweep(HOUR_MS)).rejects.toThrow('EACCES');
    expect((await onDisk()).map((path) => basename(path)).sort()).toEqual([...stuck].sort());
    stuck.clear();
    expect(await files.sweep(HOUR_MS)).toBe(4);
    expect(await onDisk()).toEqual([]);
  });

  it('leaves foreign files alone', async () => {
    await files.put(orphan);
    const { digest } = refOf(orphan);
    await writeFile(join(root(), 'README'), 'by an operator');
    await mkdir(join(root(), 'lost+found'));
    await writeFile(join(root(), digest.slice(0, 2), 'notes.txt'), 'by an operator');
    runtime.skip(2 * HOUR_MS);
    expect(await files.sweep(HOUR_MS)).toBe(1);
    expect((await onDisk()).sort()).toEqual(['README', join(digest.slice(0, 2), 'notes.txt')].sort());
  });
});
