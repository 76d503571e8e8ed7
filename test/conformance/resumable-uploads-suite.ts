/** Records of resumable uploads. */
import type { ResumableUpload, UploadTerms } from '@workbench-hub/hub/core/ports/resumable-uploads';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { digestOf, type OpenStore, type StoreUnderTest } from './store-under-test.js';

const NOW = 1_795_000_000_000;
const LATER = NOW + 1000;
const TERMS: UploadTerms = { overwrite: false, quotaBytes: null, maxFiles: 100, maxUploads: 3 };

function begun(id: string, rest: Partial<ResumableUpload> = {}): ResumableUpload {
  return {
    id,
    hubId: null,
    name: `name-${id}`,
    owner: 'anna',
    overwrite: false,
    encrypt: false,
    sizeBytes: 10,
    receivedBytes: 0,
    announcedDigest: null,
    digest: null,
    metadata: 'filename eA==',
    createdAtMs: NOW,
    expiresAtMs: LATER,
    isStored: false,
    ...rest,
  };
}

export function describeResumableUploads(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());
  const create = (upload: ResumableUpload, terms = TERMS) => store.uploads.create(upload, terms);
  const find = (id: string, nowMs = NOW) => store.uploads.find(id, nowMs);
  const objectOf = ({ name, owner, sizeBytes }: ResumableUpload) => ({
    area: 'INPUT' as const,
    name,
    owner,
    sizeBytes,
    digest: digestOf(name),
    storedAtMs: NOW,
    expiresAtMs: LATER,
  });
  const finish = (upload: ResumableUpload, terms = TERMS) =>
    store.uploads.finish(upload.id, objectOf(upload), terms, LATER);
  const named = (name: string) => store.namedObjects.find('INPUT', name, NOW);

  it('an upload is found with all its fields, also after a restart', async () => {
    const plain = begun('a', { owner: null });
    const secret = begun('b', { encrypt: true, overwrite: true, announcedDigest: digestOf('b') });
    expect([await create(plain), await create(secret)]).toEqual([{ kind: 'CREATED' }, { kind: 'CREATED' }]);
    store = await store.reopen();
    expect([await find('a'), await find('b'), await find('c')]).toEqual([plain, secret, undefined]);
  });

  it('is refused under a name that exists, unless it may overwrite', async () => {
    await store.namedObjects.put(objectOf(begun('a')), TERMS);
    expect(await create(begun('a'))).toEqual({ kind: 'EXISTS' });
    expect(await find('a')).toBeUndefined();
    expect(await create(begun('a'), { ...TERMS, overwrite: true })).toEqual({ kind: 'CREATED' });
  });

  it('is one of a limited number of unfinished ones of its owner', async () => {
    for (const id of ['a', 'b', 'c']) await create(begun(id));
    expect(await create(begun('d'))).toEqual({ kind: 'TOO_MANY_UPLOADS' });
    expect(await create(begun('e', { owner: 'bert' }))).toEqual({ kind: 'CREATED' });
    await finish(begun('a'));
    expect(await create(begun('d'))).toEqual({ kind: 'CREATED' });
  });

  it('proceeds from the place where it is, and from no other', async () => {
    await create(begun('a'));
    expect(await store.uploads.advance('a', 0, 4, LATER + 5)).toBe(true);
    expect(await store.uploads.advance('a', 0, 6, LATER + 6)).toBe(false);
    expect(await store.uploads.advance('b', 0, 6, LATER + 6)).toBe(false);
    store = await store.reopen();
    expect(await find('a')).toEqual(begun('a', { receivedBytes: 4, expiresAtMs: LATER + 5 }));
  });

  it('of two senders at the same place lets one proceed', async () => {
    await create(begun('a'));
    const both = await Promise.all([
      store.uploads.advance('a', 0, 4, LATER),
      store.uploads.advance('a', 0, 5, LATER),
    ]);
    expect(both).toEqual([true, false]);
  });

  it('gets its name and is marked as stored in one transaction', async () => {
    await create(begun('a'));
    await store.uploads.identify('a', digestOf('name-a'));
    expect(await find('a')).toMatchObject({ digest: digestOf('name-a'), isStored: false });
    expect(await finish(begun('a'))).toEqual({ kind: 'NAMED' });
    store = await store.reopen();
    expect(await find('a')).toMatchObject({ isStored: true });
    expect(await named('name-a')).toEqual(objectOf(begun('a')));
    expect(await store.uploads.advance('a', 0, 4, LATER)).toBe(false);
  });

  it('gets no name that was taken meanwhile', async () => {
    await create(begun('a'));
    const other = { ...objectOf(begun('a')), digest: digestOf('other') };
    await store.namedObjects.put(other, TERMS);
    expect(await finish(begun('a'))).toEqual({ kind: 'EXISTS' });
    expect(await find('a')).toMatchObject({ isStored: false });
    expect(await named('name-a')).toEqual(other);
  });

  it('counts with its whole size for the quota of its owner until it ends, and then by its name', async () => {
    const terms = { ...TERMS, quotaBytes: 25 };
    expect(await create(begun('a'), terms)).toEqual({ kind: 'CREATED' });
    await create(begun('b'), terms);
    expect(await create(begun('c', { sizeBytes: 6 }), terms)).toEqual({ kind: 'OVER_QUOTA', usedBytes: 20 });
    expect(await store.namedObjects.put({ ...objectOf(begun('c')), sizeBytes: 6 }, terms)).toEqual({
      kind: 'OVER_QUOTA',
      usedBytes: 20,
    });
    expect(await finish(begun('a'), terms)).toEqual({ kind: 'NAMED' });
    expect((await store.namedObjects.useOf('INPUT', 'anna', '')).bytes).toBe(20);
    await store.uploads.remove('b');
    expect((await store.namedObjects.useOf('INPUT', 'anna', '')).bytes).toBe(10);
    expect((await store.namedObjects.useOf('INPUT', 'bert', '')).bytes).toBe(0);
    expect((await store.namedObjects.useOf('OUTPUT', 'anna', '')).bytes).toBe(0);
  });

  it('is listed for its owner while it is unfinished, oldest first', async () => {
    await create(begun('b', { createdAtMs: NOW + 1 }));
    await create(begun('a', { createdAtMs: NOW + 2 }));
    await create(begun('c'));
    await create(begun('d', { owner: null }));
    await finish(begun('c'));
    const ids = async (owner: string | null, nowMs = NOW) =>
      (await store.uploads.listOf(owner, nowMs)).map(({ id }) => id);
    expect([await ids('anna'), await ids(null), await ids('bert')]).toEqual([['b', 'a'], ['d'], []]);
    expect(await ids('anna', LATER)).toEqual([]);
  });

  it('does not exist once it has expired, and is removed by the sweep', async () => {
    await create(begun('a'));
    await create(begun('b', { expiresAtMs: LATER + 1 }));
    expect(await find('a', LATER)).toBeUndefined();
    expect(await store.uploads.known(['a', 'b', 'c'])).toEqual(new Set(['a', 'b']));
    expect(await store.uploads.removeExpired(LATER)).toBe(1);
    expect(await store.uploads.known(['a', 'b', 'c'])).toEqual(new Set(['b']));
    await store.uploads.remove('b');
    await store.uploads.remove('b');
    expect(await store.uploads.known(['b'])).toEqual(new Set());
  });

  it('that is stored is remembered for the last 100 of an owner', async () => {
    const ids = Array.from({ length: 110 }, (_, at) => `id-${at}`);
    const terms = { ...TERMS, maxFiles: 1000 };
    for (const [at, id] of ids.entries()) {
      await create(begun(id), terms);
      await store.uploads.finish(id, objectOf(begun(id)), terms, LATER + at);
    }
    const known = await store.uploads.known(ids);
    expect(known.size).toBeLessThanOrEqual(101);
    expect([known.has('id-0'), known.has('id-109')]).toEqual([false, true]);
  });
}
