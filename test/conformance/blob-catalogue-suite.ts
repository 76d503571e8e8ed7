/** Catalogue of the objects that have the files of blobs. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { OpenStore, StoreUnderTest } from './store-under-test.js';

const NOW = 1_795_000_000_000;

export function describeBlobCatalogue(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());
  const entryOf = (name: string, object: string, usedAtMs = NOW) => ({
    name,
    object,
    sizeBytes: 100_000,
    usedAtMs,
  });
  const add = (name: string, object: string, instead: string | null = null, usedAtMs = NOW) =>
    store.blobCatalogue.add(entryOf(name, object, usedAtMs), instead);

  it('finds what was added, also after a restart', async () => {
    expect(await store.blobCatalogue.find('a')).toBeUndefined();
    expect(await add('a', 'object-1')).toBe('object-1');
    store = await store.reopen();
    expect(await store.blobCatalogue.find('a')).toEqual(entryOf('a', 'object-1'));
  });

  it('has a name that stays', async () => {
    const name = await store.blobCatalogue.name();
    expect(name).toMatch(/^[0-9a-f]{12}$/);
    store = await store.reopen();
    expect(await store.blobCatalogue.name()).toBe(name);
  });

  it('keeps the object of a name that has one, whoever adds another', async () => {
    const kept = await Promise.all(['object-1', 'object-2', 'object-3'].map((object) => add('a', object)));
    expect(new Set(kept).size).toBe(1);
    expect((await store.blobCatalogue.find('a'))?.object).toBe(kept[0]);
  });

  it('replaces the object that the caller has found to be gone, and no other', async () => {
    await add('a', 'object-1');
    expect(await add('a', 'object-2', 'object-1', NOW + 1)).toBe('object-2');
    expect(await add('a', 'object-3', 'object-1', NOW + 2)).toBe('object-2');
    expect(await store.blobCatalogue.find('a')).toEqual(entryOf('a', 'object-2', NOW + 2));
  });

  it('notes the use of an object that a name has', async () => {
    await add('a', 'object-1');
    const use = (name: string, object: string) =>
      store.blobCatalogue.use({ name, object, usedAtMs: NOW + 5 });
    expect(await use('a', 'object-2')).toBe(false);
    expect(await use('b', 'object-1')).toBe(false);
    expect((await store.blobCatalogue.find('a'))?.usedAtMs).toBe(NOW);
    expect(await use('a', 'object-1')).toBe(true);
    expect((await store.blobCatalogue.find('a'))?.usedAtMs).toBe(NOW + 5);
  });

  it('gives the objects of removed names, once', async () => {
    await Promise.all([add('a', 'object-1'), add('b', 'object-2'), add('c', 'object-3')]);
    expect([...(await store.blobCatalogue.remove(['a', 'c', 'never']))].sort()).toEqual([
      'object-1',
      'object-3',
    ]);
    expect(await store.blobCatalogue.remove(['a', 'c', 'never'])).toEqual([]);
    expect(await store.blobCatalogue.remove([])).toEqual([]);
    store = await store.reopen();
    expect(await store.blobCatalogue.find('a')).toBeUndefined();
    expect(await store.blobCatalogue.find('b')).toBeDefined();
  });

  it('removes a name with a time of use only while it was not used since', async () => {
    await add('a', 'object-1');
    await store.blobCatalogue.use({ name: 'a', object: 'object-1', usedAtMs: NOW });
    expect(await store.blobCatalogue.remove([{ name: 'a', usedAtMs: NOW }])).toEqual([]);
    const usedAtMs = (await store.blobCatalogue.find('a'))?.usedAtMs as number;
    expect(usedAtMs).toBe(NOW + 1);
    expect(await store.blobCatalogue.remove([{ name: 'a', usedAtMs }])).toEqual(['object-1']);
  });

  it('lists in pages the names that were not used since, or in the future', async () => {
    for (const [at, name] of ['a', 'b', 'c', 'd', 'e'].entries())
      await add(name, `object-${at}`, null, NOW + at);
    const old = (after: string, limit = 10) => store.blobCatalogue.old(after, NOW + 2, NOW + 3, limit);
    expect(await old('')).toEqual(['a', 'b', 'e']);
    expect(await old('', 2)).toEqual(['a', 'b']);
    expect(await old('b', 2)).toEqual(['e']);
  });

  it('tells which objects have a name', async () => {
    await add('a', 'object-1');
    expect(await store.blobCatalogue.known(['object-1', 'object-2'])).toEqual(new Set(['object-1']));
    expect(await store.blobCatalogue.known([])).toEqual(new Set());
  });
}
