/** Named objects of the storage. */
import type { NamedObject, NamingTerms } from '@workbench-hub/hub/core/ports/named-objects';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileOf, newTask, type OpenStore, type StoreUnderTest, startTask, WELL } from './store-under-test.js';

const NOW = 1_795_000_000_000;
const LATER = NOW + 1000;
const ONCE = { overwrite: false, quotaBytes: null, maxFiles: 100 };

function stored(name: string, rest: Partial<NamedObject> = {}): NamedObject {
  const file = fileOf(name);
  return { area: 'INPUT', name, owner: 'anna', storedAtMs: NOW, expiresAtMs: LATER, ...file, ...rest };
}

export function describeStoredNames(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());
  const put = (entry: NamedObject, terms: NamingTerms = ONCE) => store.namedObjects.put(entry, terms);
  const find = (name: string, nowMs = NOW) => store.namedObjects.find('INPUT', name, nowMs);

  describe('a name', () => {
    it('is found with all its fields, also after a restart', async () => {
      const clear = stored('clear', { owner: null });
      const secret = stored('secret', { encrypted: true });
      expect([await put(clear), await put(secret)]).toEqual([{ kind: 'NAMED' }, { kind: 'NAMED' }]);
      store = await store.reopen();
      expect([await find('clear'), await find('secret')]).toEqual([clear, secret]);
      expect(await find('Clear')).toBeUndefined();
      expect(await store.namedObjects.find('OUTPUT', 'clear', NOW)).toBeUndefined();
    });

    it('can be used once, unless it is overwritten', async () => {
      await put(stored('a'));
      const other = stored('a', { ...fileOf('other'), owner: 'bert' });
      expect(await put(other)).toEqual({ kind: 'EXISTS' });
      expect(await find('a')).toEqual(stored('a'));
      expect(await put(other, { ...ONCE, overwrite: true })).toEqual({ kind: 'NAMED' });
      expect(await find('a')).toEqual(other);
    });

    it('is given to one of two simultaneous uploads', async () => {
      const both = await Promise.all([put(stored('a')), put(stored('a', fileOf('other')))]);
      expect(both.map(({ kind }) => kind)).toEqual(['NAMED', 'EXISTS']);
      expect(await find('a')).toEqual(stored('a'));
    });

    it('that has expired is not found, and can be used again', async () => {
      await put(stored('a'));
      expect(await find('a', LATER - 1)).toBeDefined();
      expect(await find('a', LATER)).toBeUndefined();
      expect(await store.namedObjects.renew('INPUT', 'a', LATER, LATER + 5)).toBe(false);
      const next = stored('a', { ...fileOf('next'), storedAtMs: LATER, expiresAtMs: LATER + 1000 });
      expect(await put(next)).toEqual({ kind: 'NAMED' });
      expect(await find('a', LATER)).toEqual(next);
    });

    it('is listed by its beginning and its owner, in the order of names', async () => {
      const entries = ['b', 'ba', 'Ba', 'b😀', 'c'].map((name) => stored(name));
      for (const entry of [...entries, stored('b-bert', { owner: 'bert' })]) await put(entry);
      await put(stored('b-out', { area: 'OUTPUT' }));
      await put(stored('b-gone', { expiresAtMs: NOW }));
      const listed = async (query: object) =>
        (await store.namedObjects.list('INPUT', { limit: 10, ...query }, NOW)).map(({ name }) => name);
      expect(await listed({})).toEqual(['Ba', 'b', 'b-bert', 'ba', 'b😀', 'c']);
      expect(await listed({ prefix: 'b' })).toEqual(['b', 'b-bert', 'ba', 'b😀']);
      expect(await listed({ prefix: 'b', owner: 'anna', after: 'b', limit: 1 })).toEqual(['ba']);
      expect(await listed({ owner: 'nobody' })).toEqual([]);
      expect(await store.namedObjects.list('INPUT', { limit: 1, after: 'ba', prefix: 'b' }, NOW)).toEqual([
        stored('b😀'),
      ]);
    });

    it('can be renewed and removed', async () => {
      await put(stored('a'));
      expect(await store.namedObjects.renew('INPUT', 'a', NOW, LATER + 5)).toBe(true);
      expect(await find('a', LATER)).toMatchObject({ expiresAtMs: LATER + 5 });
      expect(await store.namedObjects.renew('INPUT', 'b', NOW, LATER)).toBe(false);
      await store.namedObjects.remove('INPUT', 'a');
      await store.namedObjects.remove('INPUT', 'a');
      expect(await find('a')).toBeUndefined();
    });

    it('is removed by the sweep once it has expired, and no other is', async () => {
      await Promise.all([put(stored('a')), put(stored('b')), put(stored('c', { expiresAtMs: LATER + 1 }))]);
      expect(await store.namedObjects.removeExpired(LATER - 1)).toBe(0);
      expect(await store.namedObjects.removeExpired(LATER)).toBe(2);
      expect([await find('a'), await find('b'), await find('c')]).toMatchObject([undefined, undefined, {}]);
    });
  });

  describe('a quota', () => {
    const terms = { overwrite: true, quotaBytes: 10, maxFiles: 100 };
    const use = (owner: string | null, except = '') => store.namedObjects.useOf('INPUT', owner, except);
    const ofSize = (name: string, sizeBytes: number, rest: Partial<NamedObject> = {}) =>
      stored(name, { sizeBytes, ...rest });

    it('counts the names of an owner without the replaced one', async () => {
      await put(ofSize('others', 100, { owner: 'bert' }));
      await put(ofSize('nobodys', 100, { owner: null }));
      await put(ofSize('out', 100, { area: 'OUTPUT' }));
      expect(await put(ofSize('a', 6), terms)).toEqual({ kind: 'NAMED' });
      expect(await put(ofSize('b', 5), terms)).toEqual({ kind: 'OVER_QUOTA', usedBytes: 6 });
      expect(await find('b')).toBeUndefined();
      expect(await put(ofSize('b', 4), terms)).toEqual({ kind: 'NAMED' });
      expect(await put(ofSize('a', 5), terms)).toEqual({ kind: 'NAMED' });
      expect(await use('anna')).toEqual({ files: 2, bytes: 9 });
      expect(await use('anna', 'a')).toEqual({ files: 1, bytes: 4 });
      expect(await use(null)).toEqual({ files: 1, bytes: 100 });
    });

    it('counts a former blob until it is removed, and an expired name until it is swept', async () => {
      await put(ofSize('a', 6), terms);
      await put(ofSize('a', 3, fileOf('b')), { ...terms, quotaBytes: null });
      expect(await use('anna')).toEqual({ files: 1, bytes: 7 });
      await put(ofSize('gone', 1, { expiresAtMs: NOW }), terms);
      expect(await use('anna')).toEqual({ files: 2, bytes: 8 });
      await store.namedObjects.removeExpired(NOW);
      const dropped = await store.inlineBlobs.dropped(0, 10);
      expect(dropped.map(({ digest }) => digest)).toEqual([fileOf('a').digest, fileOf('gone').digest]);
      await store.inlineBlobs.forgetDropped(dropped.map(({ id }) => id));
      expect(await use('anna')).toEqual({ files: 1, bytes: 1 });
    });

    it('counts a blob with two names once', async () => {
      await put(ofSize('a', 6), terms);
      await put(ofSize('b', 6, fileOf('a')), { ...terms, quotaBytes: 12 });
      await store.namedObjects.remove('INPUT', 'b');
      expect(await use('anna')).toEqual({ files: 1, bytes: 6 });
    });

    it('is charged to the latest uploader of an overwritten name', async () => {
      await put(ofSize('a', 6), terms);
      await put(ofSize('a', 4, { ...fileOf('b'), sizeBytes: 4, owner: 'bert' }), terms);
      expect([(await use('anna')).bytes, (await use('bert')).bytes]).toEqual([6, 4]);
    });

    it('limits the number of files, too', async () => {
      const few = { ...terms, maxFiles: 2 };
      await put(ofSize('a', 1), few);
      await put(ofSize('b', 1), few);
      expect(await put(ofSize('c', 1), few)).toEqual({ kind: 'TOO_MANY_FILES', files: 2 });
      expect(await put(ofSize('b', 2), few)).toEqual({ kind: 'NAMED' });
    });

    it('applies to uploads that end simultaneously', async () => {
      const both = await Promise.all([put(ofSize('a', 6), terms), put(ofSize('b', 6), terms)]);
      expect(both.map(({ kind }) => kind)).toEqual(['NAMED', 'OVER_QUOTA']);
    });
  });

  describe('a blob', () => {
    it('is referenced by a named object, in its stored form', async () => {
      await put(stored('clear'));
      await put(stored('secret', { encrypted: true }));
      const digests = [fileOf('clear').digest, fileOf('secret').digest];
      expect(await store.inlineBlobs.referenced(digests, false)).toEqual(new Set([digests[0]]));
      expect(await store.inlineBlobs.referenced(digests, true)).toEqual(new Set([digests[1]]));
      await store.namedObjects.remove('INPUT', 'clear');
      expect(await store.inlineBlobs.referenced(digests, false)).toEqual(new Set());
    });

    it('is referenced by a task, in its stored form', async () => {
      const { digest } = fileOf('secret');
      const script = { ...fileOf('secret'), encrypted: true } as const;
      const job = { model: null, scripts: [script], additionalFiles: [], variables: [] };
      await store.queue.insert([newTask({ job: { type: 'EXECUTE_BATCH_JOB', ...job } })]);
      expect(await store.inlineBlobs.referenced([digest], true)).toEqual(new Set([digest]));
      expect(await store.inlineBlobs.referenced([digest], false)).toEqual(new Set());
    });

    it.each<[string, () => Promise<unknown>]>([
      ['removed', () => store.namedObjects.remove('INPUT', 'a')],
      ['overwritten', () => put(stored('a', fileOf('b')), { ...ONCE, overwrite: true })],
      ['swept', () => store.namedObjects.removeExpired(LATER)],
    ])('whose name was %s is noted, and removed unless it is held', async (_, lose) => {
      const { digest } = fileOf('a');
      const content = { digest, encrypted: false };
      await store.inlineBlobs.put(digest, Buffer.from('a'), NOW);
      await put(stored('a'));
      const remove = (isHeld: boolean) => store.inlineBlobs.removeUnreferenced([content], () => isHeld);
      expect(await remove(false)).toEqual({ unreferenced: [], held: [] });
      await lose();
      store = await store.reopen();
      expect(await store.inlineBlobs.dropped(0, 10)).toEqual([{ id: 1, ...content }]);
      expect(await remove(true)).toEqual({ unreferenced: [], held: [content] });
      expect(await store.inlineBlobs.find(digest)).toBeDefined();
      expect(await remove(false)).toEqual({ unreferenced: [content], held: [] });
      expect(await store.inlineBlobs.find(digest)).toBeUndefined();
    });

    it('is logged as dropped when its task is removed', async () => {
      const ref = await startTask(store);
      const files = { outputFiles: [{ path: 'out', ...fileOf('out') }], log: fileOf('log') };
      await store.queue.end([{ ref, ending: { ...WELL, files }, endedAtMs: NOW, storedFiles: [] }]);
      await store.archive.remove([ref.taskId]);
      const dropped = await store.inlineBlobs.dropped(0, 10);
      expect(dropped.map(({ digest }) => digest).sort()).toEqual(
        [fileOf('out').digest, fileOf('log').digest].sort(),
      );
      expect(await store.inlineBlobs.dropped(2, 10)).toEqual([]);
    });

    it('with an encrypted reference is among the referenced encrypted ones', async () => {
      await put(stored('secret', { encrypted: true }));
      await put(stored('clear'));
      expect(await store.inlineBlobs.referencedEncrypted()).toEqual([fileOf('secret').digest]);
    });
  });

  describe('the end of a task', () => {
    const output = (taskId: string) =>
      stored(`${taskId}-a.bin`, { area: 'OUTPUT', sizeBytes: 5, storedAtMs: LATER, expiresAtMs: LATER + 1 });

    it('names its stored files in the same transaction, and the task lists them', async () => {
      const ref = await startTask(store);
      const entry = output(ref.taskId);
      const ended = { ref, ending: WELL, endedAtMs: LATER, storedFiles: [entry] };
      expect(await store.queue.end([ended])).toEqual([true]);
      store = await store.reopen();
      expect(await store.namedObjects.find('OUTPUT', entry.name, LATER)).toEqual(entry);
      const remembered = [{ name: entry.name, sizeBytes: 5 }];
      expect(await store.archive.filesOf(ref.taskId)).toMatchObject({ storedFiles: remembered });
      await store.namedObjects.removeExpired(LATER + 1);
      expect(await store.archive.filesOf(ref.taskId)).toMatchObject({ storedFiles: remembered });
      expect(await store.inlineBlobs.referenced([entry.digest], false)).toEqual(new Set());
    });

    it('names no files when it does not count', async () => {
      const ref = await startTask(store);
      const late = {
        ref: { ...ref, attempt: 2 },
        ending: WELL,
        endedAtMs: LATER,
        storedFiles: [output('x')],
      };
      expect(await store.queue.end([late])).toEqual([false]);
      expect(await store.namedObjects.find('OUTPUT', 'x-a.bin', LATER)).toBeUndefined();
    });

    it('leaves its stored files when the task is removed', async () => {
      const ref = await startTask(store);
      const entry = output(ref.taskId);
      await store.queue.end([{ ref, ending: WELL, endedAtMs: LATER, storedFiles: [entry] }]);
      expect(await store.archive.remove([ref.taskId])).toEqual([true]);
      expect(await store.namedObjects.find('OUTPUT', entry.name, LATER)).toEqual(entry);
    });
  });
}
