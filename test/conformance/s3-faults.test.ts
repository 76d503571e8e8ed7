/** Blobs in an object store that fails: nothing is half-done, and each fault has words for the operator. */
import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { openS3Place } from '@workbench-hub/hub/files/s3/open-s3-place';
import { IMPATIENT, S3Bucket } from '@workbench-hub/hub/files/s3/s3-bucket';
import { credentialsOf } from '@workbench-hub/hub/files/s3/s3-credentials';
import type { S3Settings } from '@workbench-hub/hub/files/s3/s3-settings';
import { isThere } from '@workbench-hub/shared/runtime/is-there';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import { authority } from '../support/hubs/certificates.js';
import { memoryLog } from '../support/memory-log.js';
import { codeBlock } from '../support/pages/code-blocks.js';
import { expectNoSecret } from '../support/secrets.js';
import type { StoreRequest } from '../support/stores/object-store.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';
import { openInObjectStore, type S3UnderTest } from './open-blob-places.js';
import { openOnSqlite } from './open-task-stores.js';

const DAY_MS = 86_400_000;
const atOnce = <T>(step: () => Promise<T>) => step();

let under: S3UnderTest;
let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
  under = await openInObjectStore(openOnSqlite);
});
afterEach(async () => {
  await under.close();
  await folder.remove();
});

const contentOf = (bytes: number, fill = 'content') => Buffer.alloc(bytes, fill);
const nameOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');
const fileOf = async (content: Buffer): Promise<string> => {
  const path = join(folder.path, nameOf(content));
  await writeFile(path, content);
  return path;
};
const put = async (content: Buffer): Promise<string> => {
  await under.place.put(nameOf(content), await fileOf(content), atOnce);
  return nameOf(content);
};
const read = async (name: string): Promise<Buffer> => {
  const found = await under.place.find(name);
  return Buffer.concat((await found?.read(0, found.sizeBytes).toArray()) ?? []);
};

const isPart = ({ method, query }: StoreRequest) => method === 'PUT' && query.has('partNumber');
const isObject =
  (wanted: string) =>
  ({ method, key }: StoreRequest) =>
    method === wanted && key !== '';

/** Answers the first requests of a kind in another way; the others pass. */
function failFirst(
  count: number,
  matches: (request: StoreRequest) => boolean,
  fault: ReturnType<typeof under.store.faultOf>,
): { readonly left: number } {
  const state = { left: count };
  under.store.faultOf = (request) => (matches(request) && state.left-- > 0 ? fault : undefined);
  return state;
}

const large = contentOf(20 * 1024 * 1024);
const small = contentOf(100_000);

describe('a passing fault', () => {
  it.each([
    ['SlowDown', { status: 503, code: 'SlowDown' }],
    ['an internal error', { status: 500, code: 'InternalError' }],
    ['a cut connection', 'CUT'],
  ] as const)('of an upload, %s, is not noticed', async (_, fault) => {
    for (const content of [small, large]) {
      // The fourth try of a request is the last.
      const state = failFirst(3, (request) => isPart(request) || isObject('PUT')(request), fault);
      const name = await put(content);
      expect(state.left).toBeLessThan(1);
      expect((await read(name)).equals(content)).toBe(true);
    }
    expect(under.isUsable()).toBe(true);
  });

  it('of a download that breaks again and again is not noticed', async () => {
    const name = await put(large);
    const state = failFirst(5, isObject('GET'), { cutAfter: 3_000_000 });
    expect((await read(name)).equals(large)).toBe(true);
    expect(state.left).toBeLessThan(1);
  });
});

it('a download that stalls in the middle is continued when its connection was silent for too long', async () => {
  await put(large);
  const [key = ''] = await under.store.keys();
  const { timers, clock } = systemRuntime;
  const patience = { ...IMPATIENT, silenceMs: 300 };
  const bucket = new S3Bucket({ settings: under.store.settings, ca: null, timers, clock, patience });
  const state = failFirst(3, isObject('GET'), { stallAfter: 3_000_000 });
  const pieces: Buffer[] = [];
  for await (const piece of bucket.read(key, 0, large.length)) pieces.push(piece);
  expect(Buffer.concat(pieces).equals(large)).toBe(true);
  expect(state.left).toBeLessThan(1);
  bucket.close();
});

describe('an object store that is away', () => {
  const away = { code: 'STORE_UNAVAILABLE', retryAfterS: 5 };

  it('refuses what needs it, keeps the file, and is said to be away; then all goes on', async () => {
    const name = await put(small);
    const content = contentOf(90_000, 'other');
    const path = await fileOf(content);
    under.store.faultOf = () => ({ status: 503, code: 'ServiceUnavailable' });
    await expect(under.place.put(nameOf(content), path, atOnce)).rejects.toMatchObject(away);
    await expect(under.place.find(name)).rejects.toMatchObject(away);
    await expect(under.place.renew(name)).rejects.toMatchObject(away);
    expect(await isThere(path)).toBe(true);
    expect(under.isUsable()).toBe(false);
    const [line] = under.log.lines.filter(({ level }) => level === 50);
    expect(line).toMatchObject({
      msg: 'the object store is away: requests that need it are refused until it is back',
      why: expect.stringContaining('503'),
      advice: expect.stringContaining('log of the object store'),
    });
    under.store.faultOf = () => undefined;
    await eventually(async () => {
      await under.runtime.advance(2000);
      return under.isUsable();
    });
    await under.place.put(nameOf(content), path, atOnce);
    expect((await read(nameOf(content))).equals(content)).toBe(true);
  });

  it('is noticed by the probe, without a request', async () => {
    under.store.faultOf = () => 'CUT';
    await under.runtime.advance(15_000);
    await eventually(() => !under.isUsable());
  });

  it('fails a download in the middle, when it does not come back', async () => {
    const name = await put(large);
    const found = await under.place.find(name);
    under.store.faultOf = (request) => (isObject('GET')(request) ? { cutAfter: 1_000_000 } : undefined);
    const stream = found?.read(0, large.length);
    let bytes = 0;
    stream?.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes >= 1_000_000) under.store.faultOf = () => ({ status: 500, code: 'InternalError' });
    });
    const error = await new Promise((resolve) => stream?.once('error', resolve));
    expect(error).toMatchObject(away);
    expect(bytes).toBeLessThan(large.length);
  });

  it('leaves a removed object to a sweep', async () => {
    const name = await put(small);
    const [object] = await under.store.keys();
    under.store.faultOf = (request) =>
      request.method === 'DELETE' ? { status: 500, code: 'InternalError' } : undefined;
    await under.place.remove([name]);
    expect(await under.place.find(name)).toBeUndefined();
    expect(await under.store.keys()).toEqual([object]);
    under.store.faultOf = () => undefined;
    await under.place.removeRemains();
    expect(await under.store.keys()).toEqual([object]); // too young
    under.runtime.setClock(Date.now() + 2 * DAY_MS - under.runtime.clock.nowMs());
    under.runtime.skip(3_600_000);
    expect(await under.place.removeRemains()).toBe(1);
    expect(await under.store.keys()).toEqual([]);
  });
});

describe('an interrupted upload', () => {
  it('is aborted when it fails, and leaves nothing', async () => {
    under.store.faultOf = (request) =>
      isPart(request) && request.query.get('partNumber') === '2'
        ? { status: 403, code: 'AccessDenied' }
        : undefined;
    await expect(put(large)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await eventually(() => under.store.unfinished.length === 0);
    expect(await under.store.keys()).toEqual([]);
  });

  it('of a killed hub is aborted by a sweep after a day', async () => {
    under.store.faultOf = (request) =>
      isPart(request) || (request.method === 'DELETE' && request.query.has('uploadId'))
        ? { status: 403, code: 'AccessDenied' }
        : undefined;
    await expect(put(large)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    under.store.faultOf = () => undefined;
    expect(under.store.unfinished).toHaveLength(1);
    under.runtime.setClock(Date.now() - under.runtime.clock.nowMs());
    expect(await under.place.removeRemains()).toBe(0);
    expect(under.store.unfinished).toHaveLength(1);
    under.store.age(2 * DAY_MS);
    under.runtime.skip(3_600_000);
    expect(await under.place.removeRemains()).toBe(1);
    expect(under.store.unfinished).toEqual([]);
  });

  it('of a store that cannot list them is left to the rules of the bucket', async () => {
    under.store.faultOf = ({ query }) =>
      query.has('uploads') ? { status: 501, code: 'NotImplemented' } : undefined;
    await put(small);
    expect(await under.place.removeRemains()).toBe(0);
    expect(under.isUsable()).toBe(true);
  });
});

describe('a full object store', () => {
  it.each([
    [403, 'QuotaExceeded'],
    [507, 'XMinioStorageFull'],
  ])('is STORAGE_FULL to clients (%d %s)', async (status, code) => {
    under.store.faultOf = ({ method }) => (method === 'PUT' ? { status, code } : undefined);
    await expect(put(small)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(await isThere(join(folder.path, nameOf(small)))).toBe(true);
    expect(await under.store.keys()).toEqual([]);
  });
});

describe('a lost object', () => {
  it('is not found, and is replaced when its content comes again', async () => {
    const name = await put(small);
    const [object] = await under.store.keys();
    await rm(under.store.pathOf(object as string));
    expect(await under.place.find(name)).toBeUndefined();
    expect(await under.place.renew(name)).toBe(false);
    expect(under.log.lines).toContainEqual(
      expect.objectContaining({ object, msg: 'an object of the hub is not in the bucket any more' }),
    );
    await put(small);
    expect((await read(name)).equals(small)).toBe(true);
  });

  it('whose bytes were cut is replaced as well', async () => {
    const name = await put(small);
    const [object] = await under.store.keys();
    await writeFile(under.store.pathOf(object as string), 'short');
    expect(await under.place.find(name)).toMatchObject({ sizeBytes: 5 });
    await put(small);
    expect((await read(name)).equals(small)).toBe(true);
    expect(await under.store.keys()).toHaveLength(1);
  });
});

describe('the start', () => {
  /** Why a start with these settings is refused. */
  async function refusal(changes: Partial<S3Settings>): Promise<string> {
    const startedAtMs = Date.now();
    const opened = openS3Place(
      { ...under.store.settings, ...changes },
      { catalogue: under.catalogue, ca: null, runtime: systemRuntime, log: memoryLog().log },
    );
    const error = await opened.then(
      ({ close }) => close(),
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(StartRefused);
    expect(Date.now() - startedAtMs).toBeLessThan(10_000);
    const { message } = error as Error;
    expectNoSecret(message, 'the refusal');
    return message;
  }
  const fileWith = async (text: string): Promise<string> => {
    const path = join(folder.path, text);
    await writeFile(path, text);
    return path;
  };

  it.each<[string, () => Promise<Partial<S3Settings>>, string[]]>([
    ['a missing bucket', async () => ({ bucket: 'none' }), ['there is no bucket none', 'storage.s3.bucket']],
    [
      'an unknown access key',
      async () => ({ accessKeyIdFile: await fileWith('UNKNOWN') }),
      ['403', 'storage.s3.accessKeyIdFile'],
    ],
    [
      'a missing file of a key',
      async () => ({ accessKeyIdFile: '/nowhere/key' }),
      ['/nowhere/key of storage.s3.accessKeyIdFile does not exist', 'correct the path'],
    ],
    [
      'no server at the address',
      async () => ({ endpoint: 'http://127.0.0.1:1' }),
      ['http://127.0.0.1:1 does not respond (ECONNREFUSED)', 'start the object store'],
    ],
    [
      'an unknown name of a host',
      async () => ({ endpoint: 'http://no-such-host.invalid' }),
      ['cannot be resolved', 'storage.s3.endpoint'],
    ],
    [
      'the wrong protocol',
      async () => ({ endpoint: under.store.settings.endpoint?.replace('http:', 'https:') ?? null }),
      ['does not speak the protocol', 'http or https in storage.s3.endpoint'],
    ],
  ])('is refused for %s', async (_, changes, words) => {
    const message = await refusal(await changes());
    for (const each of words) expect(message).toContain(each);
  });

  it.each([
    [{ status: 301, code: 'PermanentRedirect' }, 'HEAD', 'storage.s3.region'],
    [
      { status: 403, code: 'RequestTimeTooSkewed' },
      'PUT',
      'the clocks of this machine and of the object store',
    ],
    [
      { status: 403, code: 'SignatureDoesNotMatch' },
      'PUT',
      'the secret key does not belong to the access key',
    ],
    [{ status: 403, code: 'AccessDenied' }, 'PUT', 'give the key the right s3:PutObject'],
    [{ status: 403, code: 'AccessDenied' }, 'GET', 'give the key the right s3:GetObject'],
    [{ status: 403, code: 'AccessDenied' }, 'DELETE', 'give the key the right s3:DeleteObject'],
    [{ status: 403, code: 'AccessDenied' }, 'POST', 'give the key the right s3:PutObject'],
    [{ status: 503, code: 'SlowDown' }, 'PUT', 'the object store answers an upload with 503 SlowDown'],
  ])('is refused for %o to %s', async (fault, method, words) => {
    under.store.faultOf = (request) => (request.method === method ? fault : undefined);
    expect(await refusal({})).toContain(words);
    under.store.faultOf = () => undefined;
  });

  it('is refused for a certificate of an unknown authority', async () => {
    const { cert, key } = await (await authority(folder.path, 'other')).issue({
      name: 'store',
      hosts: ['127.0.0.1'],
    });
    const server = createServer({ cert: await readFile(cert), key: await readFile(key) });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const endpoint = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const message = await refusal({ endpoint });
    for (const words of [`the certificate of ${endpoint} is not trusted`, 'storage.s3.ca'])
      expect(message).toContain(words);
  });

  it('is refused, within seconds, by a store that does not respond', async () => {
    under.store.faultOf = () => 'HANG';
    expect(await refusal({})).toContain('does not respond');
  }, 30_000);

  it('is refused for a bucket that has none of the objects of the catalogue', async () => {
    await put(small);
    for (const key of await under.store.keys()) await rm(under.store.pathOf(key));
    expect(await refusal({})).toContain('does not have the objects of this hub');
  });

  it('leaves nothing in the bucket', async () => {
    await under.other();
    expect(await under.store.keys()).toEqual([]);
    expect(under.store.unfinished).toEqual([]);
  });

  it.each(rightsOfPage())('is refused for a key without the right %s, which it names', async (right) => {
    under.store.faultOf = (request) =>
      rightFor(request) === right ? { status: 403, code: 'AccessDenied' } : undefined;
    expect(await refusal({})).toContain(`the right ${right}`);
    under.store.faultOf = () => undefined;
  });
});

/** Rights that the policy of the page gives to the key. */
function rightsOfPage(): string[] {
  const policy = codeBlock('packages/docs/file-places.md', '"Version": "2012-10-17"');
  const { Statement } = JSON.parse(policy) as { Statement: { Action: string[] }[] };
  return Statement.flatMap(({ Action }) => Action).sort();
}

/** Right that a request takes at Amazon. */
function rightFor({ method, key, query }: StoreRequest): string {
  const asked = `${method} ${key === '' ? 'bucket' : 'object'}`;
  const known = ['x-id', 'list-type', 'prefix', 'continuation-token', 'uploads', 'uploadId', 'partNumber'];
  if ([...query.keys()].some((name) => !known.includes(name))) return `${asked}?${query}`;
  if (asked === 'GET bucket' && query.has('uploads')) return 's3:ListBucketMultipartUploads';
  if (asked === 'HEAD bucket' || asked === 'GET bucket') return 's3:ListBucket';
  if (asked === 'HEAD object' || asked === 'GET object') return 's3:GetObject';
  if (asked === 'PUT object' || asked === 'POST object') return 's3:PutObject';
  if (asked === 'DELETE object') return query.has('uploadId') ? 's3:AbortMultipartUpload' : 's3:DeleteObject';
  return asked;
}

it('the hub uses the rights of the page, and no others', async () => {
  const used = new Set<string>();
  under.store.faultOf = (request) => {
    used.add(rightFor(request));
    return undefined;
  };
  const place = await under.other();
  for (const content of [small, large]) {
    const name = await put(content);
    expect((await read(name)).equals(content)).toBe(true);
    await place.remove([name]);
  }
  await place.removeRemains();
  expect([...used].sort()).toEqual(rightsOfPage());
});

it('several hubs may share a bucket: keys begin with the prefix and the name of the database, and others stay', async () => {
  await put(small);
  const { prefix } = under.store.settings;
  const own = new RegExp(`^${prefix}${await under.catalogue.name()}/[0-9a-f-]{36}$`);
  expect(await under.store.keys()).toEqual([expect.stringMatching(own)]);
  const { timers, clock } = systemRuntime;
  const bucket = new S3Bucket({ settings: under.store.settings, ca: null, timers, clock });
  onTestFinished(() => bucket.close());
  const foreign = `${prefix}0123456789ab/object`;
  await bucket.put(foreign, small);
  under.runtime.setClock(Date.now() + 2 * DAY_MS - under.runtime.clock.nowMs());
  under.runtime.skip(3_600_000);
  expect(await under.place.removeRemains()).toBe(0);
  expect(await under.store.keys()).toEqual(expect.arrayContaining([foreign, expect.stringMatching(own)]));
});

it('keys are read again, so that they can be replaced', async () => {
  const file = under.store.settings.accessKeyIdFile as string;
  const key = await readFile(file);
  await put(small);
  await writeFile(file, 'REPLACED');
  await expect(put(contentOf(90_000, 'x'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  expect(JSON.stringify(under.log.lines)).not.toContain('REPLACED');
  await writeFile(file, key);
  await put(contentOf(90_000, 'x'));
  const { credentials } = credentialsOf(under.store.settings, systemRuntime.clock);
  const found = await (credentials as () => Promise<{ expiration: Date }>)();
  expect(found.expiration.getTime() - Date.now()).toBeLessThanOrEqual(5 * 60_000);
});
