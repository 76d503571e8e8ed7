/** Resumable uploads to the input storage (contract 12.20). */
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest, replaceHub } from '../support/hubs/hub-for-tests.js';
import { expectError } from '../support/interface/api.js';
import { blobFiles, exists, upload } from '../support/interface/input-storage.js';
import {
  begin,
  beginPart,
  begun,
  cutAfter,
  metadataOf,
  offsetOf,
  sendPart,
  sha256Of,
  state,
  UPLOADS,
} from '../support/interface/resumable-uploads.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const NAME = { filename: 'gearbox.wbpz' };
const CONTENT = randomBytes(300_000);
const ABSENT = 'there is no such upload of yours, or it has expired; begin another';

hubForEachTest();

async function digestOf(name: string): Promise<unknown> {
  const { body } = await api.get(`/api/x/storage/input?prefix=${name}`);
  return (body['files'] as { digest: string }[])[0]?.digest;
}

describe.each(['', '?encrypt=true'])('a resumable upload with the query "%s"', (query) => {
  it('in parts of any size ends as a file of the input storage', async () => {
    const path = await begun({ ...NAME, sha256: sha256Of(CONTENT) }, CONTENT.length, { query });
    let offset = 0;
    for (const end of [1, 100, 65_536, 200_000, 200_000, 300_000]) {
      expect(await exists('gearbox.wbpz')).toBe(false);
      const answer = await sendPart(path, offset, CONTENT.subarray(offset, end));
      expect([answer.status, answer.headers.get('upload-offset')]).toEqual([204, String(end)]);
      expect(answer.headers.get('tus-resumable')).toBe('1.0.0');
      offset = end;
    }
    expect(await exists('gearbox.wbpz')).toBe(true);
    if (query === '') expect(await digestOf('gearbox.wbpz')).toBe(sha256Of(CONTENT));
    expect(await blobFiles()).toHaveLength(1);
    const { headers } = await state(path);
    expect(headers.get('upload-offset')).toBe('300000');
  });

  it('without any content exists at once', async () => {
    const path = await begun(NAME, 0, { query });
    expect(await exists('gearbox.wbpz')).toBe(true);
    expect(await offsetOf(path)).toBe(0);
  });

  it('keeps what arrived before a cut, and continues there after a restart', async () => {
    const { path: dataDir, remove } = await temporaryFolder();
    onTestFinished(remove);
    await replaceHub({ dataDir });
    const path = await begun({ ...NAME, sha256: sha256Of(CONTENT) }, CONTENT.length, { query });
    const part = await beginPart(path, 0, CONTENT.subarray(0, 150_000), CONTENT.length);
    const kept = await cutAfter(50_000, part, path);
    expect(kept).toBeGreaterThan(50_000);
    await replaceHub({ dataDir });
    expect(await offsetOf(path)).toBe(kept);
    expect((await sendPart(path, kept, CONTENT.subarray(kept))).status).toBe(204);
    expect(await exists('gearbox.wbpz')).toBe(true);
  });

  it('whose content does not have the announced digest is refused and removed', async () => {
    const path = await begun({ ...NAME, sha256: '0'.repeat(64) }, CONTENT.length, { query });
    const answer = await sendPart(path, 0, CONTENT);
    const message = `Upload-Metadata: sha256 announced ${'0'.repeat(64)}, but the content has ${sha256Of(CONTENT)}; begin another upload`;
    expectError(answer, 400, path, message);
    expect(answer.headers.get('x-error-code')).toBe('DIGEST_MISMATCH');
    expect((await state(path)).status).toBe(404);
    expect(await exists('gearbox.wbpz')).toBe(false);
    await eventually(async () => (await blobFiles()).length === 0);
  });

  it('can be ended, also while a part arrives', async () => {
    const path = await begun(NAME, CONTENT.length, { query });
    await beginPart(path, 0, CONTENT.subarray(0, 150_000), CONTENT.length);
    await eventually(async () => (await blobFiles()).length > 0);
    const answer = await api.call('DELETE', path, { headers: { 'tus-resumable': '1.0.0' } });
    expect(answer.status).toBe(204);
    expect((await state(path)).status).toBe(404);
    await eventually(async () => (await blobFiles()).length === 0);
  });
});

it('nothing of an encrypted upload is on the disk in plain while it is unfinished', async () => {
  const secret = Buffer.alloc(200_000, 'a secret of the company ');
  const path = await begun(NAME, 250_000, { query: '?encrypt=true' });
  await sendPart(path, 0, secret);
  expect(await blobFiles()).toHaveLength(1);
  const entries = await readdir(hub.config.dataDir, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    const bytes = await readFile(join(entry.parentPath, entry.name));
    expect(bytes.includes('a secret of the company'), entry.name).toBe(false);
  }
});

describe('a part', () => {
  it('at another offset is a 409, and changes nothing', async () => {
    const path = await begun(NAME, CONTENT.length);
    await sendPart(path, 0, CONTENT.subarray(0, 1000));
    for (const offset of [0, 999, 1001, CONTENT.length, '9'.repeat(30)]) {
      const answer = await sendPart(path, offset, CONTENT.subarray(0, 10));
      expectError(answer, 409, path, 'Upload-Offset: the upload continues at 1000');
      expect(answer.headers.get('x-error-code')).toBe('WRONG_OFFSET');
    }
    expect(await offsetOf(path)).toBe(1000);
  });

  it.each(['-1', '1.5', 'abc', '', '0x10', '1e3'])('with the offset "%s" is a 400', async (offset) => {
    const path = await begun(NAME, CONTENT.length);
    const message = 'Upload-Offset: is required: a whole number of bytes, 0 or more';
    expectError(await sendPart(path, offset, CONTENT.subarray(0, 10)), 400, path, message);
  });

  it('longer than the rest is a 413, whether its length is announced or not', async () => {
    const path = await begun(NAME, 1000);
    const message =
      'the upload has 1000 bytes (Upload-Length), and 0 of them were there before this part: the part has more than the rest';
    expectError(await sendPart(path, 0, CONTENT.subarray(0, 1001)), 413, path, message);
    const chunked = new Blob([CONTENT.subarray(0, 1001)]).stream();
    expectError(await sendPart(path, 0, chunked), 413, path, message);
    expect(await exists('gearbox.wbpz')).toBe(false);
    expect(await offsetOf(path)).toBe(0);
    expect((await sendPart(path, 0, CONTENT.subarray(0, 1000))).status).toBe(204);
  });

  it('of unknown length is taken', async () => {
    const path = await begun(NAME, CONTENT.length);
    expect((await sendPart(path, 0, new Blob([CONTENT]).stream())).status).toBe(204);
    expect(await digestOf('gearbox.wbpz')).toBe(sha256Of(CONTENT));
  });

  it('is refused while another one arrives, which goes on', async () => {
    const path = await begun(NAME, CONTENT.length);
    const first = await beginPart(path, 0, CONTENT.subarray(0, 1000), CONTENT.length);
    await eventually(async () => (await blobFiles()).length > 0);
    const second = await sendPart(path, 0, CONTENT);
    expectError(second, 423, path, 'another request sends this upload at present; try again later');
    expect(second.headers.get('retry-after')).toBe('2');
    expect(await first.finish(CONTENT.subarray(1000))).toMatch(/^HTTP\/1\.1 204 /);
    expect(await digestOf('gearbox.wbpz')).toBe(sha256Of(CONTENT));
  });

  it('takes over from one whose sender has been silent', async () => {
    const path = await begun(NAME, CONTENT.length);
    await beginPart(path, 0, CONTENT.subarray(0, 1000), CONTENT.length);
    await eventually(async () => (await blobFiles()).length > 0);
    const answer = await eventually(async () => {
      const tried = await sendPart(path, 0, CONTENT);
      return tried.status === 423 ? undefined : tried;
    });
    expectError(answer, 409, path, 'Upload-Offset: the upload continues at 1000');
    expect((await sendPart(path, 1000, CONTENT.subarray(1000))).status).toBe(204);
    expect(await digestOf('gearbox.wbpz')).toBe(sha256Of(CONTENT));
  });

  it('of another content type is a 415', async () => {
    const path = await begun(NAME, CONTENT.length);
    const answer = await sendPart(path, 0, CONTENT, {
      headers: { 'content-type': 'application/octet-stream' },
    });
    expectError(answer, 415, path, 'Content-Type: must be application/offset+octet-stream');
  });

  it('after the end is refused, and an empty one is not', async () => {
    const path = await begun(NAME, 10);
    await sendPart(path, 0, CONTENT.subarray(0, 10));
    expect((await sendPart(path, 10, CONTENT.subarray(0, 1))).status).toBe(413);
    expect((await sendPart(path, 10, new Uint8Array())).status).toBe(204);
  });
});

describe('a request', () => {
  it.each(['HEAD', 'PATCH', 'DELETE'])('%s for an unknown upload is a 404', async (method) => {
    for (const id of ['019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77', '..%2F..%2Ftasks.sqlite', 'x'.repeat(300)]) {
      const path = `${UPLOADS}/${id}`;
      const answer =
        method === 'PATCH'
          ? await sendPart(path, 0, CONTENT)
          : await api.call(method, path, { headers: { 'tus-resumable': '1.0.0' } });
      if (method === 'HEAD') expect(answer.status).toBe(404);
      else expectError(answer, 404, path, ABSENT);
    }
  });

  it.each([undefined, '0.2.2', '2.0.0'])(
    'of version %s is a 412 that names the right one',
    async (version) => {
      const headers: Record<string, string> = version === undefined ? {} : { 'tus-resumable': version };
      const path = await begun(NAME, 10);
      for (const [method, at] of [
        ['POST', UPLOADS],
        ['HEAD', path],
        ['PATCH', path],
        ['DELETE', path],
      ] as const) {
        const answer = await api.call(method, at, { headers });
        expect([answer.status, answer.headers.get('tus-version')]).toEqual([412, '1.0.0']);
        expect(answer.headers.get('x-error-code')).toBe('UNSUPPORTED_TUS_VERSION');
      }
    },
  );

  it('OPTIONS tells the abilities', async () => {
    const { status, headers } = await api.call('OPTIONS', UPLOADS);
    expect([status, headers.get('tus-version'), headers.get('tus-extension')]).toEqual([
      204,
      '1.0.0',
      'creation,expiration,termination',
    ]);
    expect(headers.get('tus-max-size')).toBe(String(16 * 1024 ** 3));
  });
});

describe('the beginning of an upload', () => {
  it.each(['-1', '', '1.5', 'many'])('with the length "%s" is a 400', async (length) => {
    expectError(
      await begin(NAME, length),
      400,
      UPLOADS,
      'Upload-Length: is required: a whole number of bytes, 0 or more',
    );
  });

  it('with a huge length is a 413, and takes no room', async () => {
    const tooLarge = `file: may have at most ${16 * 1024 ** 3} bytes (storage.input.maxFileSize)`;
    for (const length of [String(16 * 1024 ** 3 + 1), '9'.repeat(40)])
      expectError(await begin(NAME, length), 413, UPLOADS, tooLarge);
    expect((await api.get(UPLOADS)).body).toEqual({ uploads: [] });
  });

  it('with a length beyond the room on the disk is a 507', async () => {
    await replaceHub({ config: { storage: { input: { maxFileSize: '900000GiB' } } } });
    const answer = await begin(NAME, 900_000 * 1024 ** 3);
    expect(answer.status).toBe(507);
    expect(answer.text).toMatch(/the disk of the hub has only \d+ bytes left for this file/);
  });

  it.each([
    '../../etc/passwd',
    '/etc/passwd',
    'a\\b.txt',
    'ab',
    'nul.txt',
    'dot.',
    '.hidden',
    'ümlaut.txt',
    'a\0b.txt',
    'x'.repeat(65),
  ])('with the name %j is a 400', async (filename) => {
    const { status, body } = await begin({ filename }, 10);
    expect(status).toBe(400);
    expect(body['message']).toMatch(/^Upload-Metadata: filename must /);
  });

  it.each([
    ['none at all', ''],
    ['a value that is no Base64', 'filename ?'],
    ['Base64 of the other alphabet', 'filename _-_-'],
    ['a name without padding', 'filename Z2VhcmJveA'],
    ['two values', 'filename Z2Vhcg== Z2Vhcg=='],
    ['a key twice', 'filename Z2Vhcg==,filename Z2Vhcg=='],
    ['an empty pair', 'filename Z2Vhcg==,'],
    ['a digest that is none', `filename Z2Vhcg==,sha256 ${Buffer.from('abc').toString('base64')}`],
    ['too much of it', `filename Z2Vhcg==,more ${'QUFB'.repeat(1100)}`],
  ])('with metadata of %s is a 400', async (_, metadata) => {
    const headers = { 'tus-resumable': '1.0.0', 'upload-length': '10', 'upload-metadata': metadata };
    const { status, body } = await api.call('POST', UPLOADS, { headers });
    expect(status).toBe(400);
    expect(body['message']).toMatch(/^Upload-Metadata: /);
  });

  it('with further metadata, and the name under `name`, is taken', async () => {
    const values = { name: 'gearbox.wbpz', filetype: 'application/x-gear', relativePath: 'x' };
    const path = await begun(values, 10);
    expect((await state(path)).headers.get('upload-metadata')).toBe(metadataOf(values));
  });

  it('with a name that exists is a 409, unless it may overwrite', async () => {
    await upload('gearbox.wbpz', 'the first');
    const taken =
      'there is a file gearbox.wbpz in the input storage already; give another name, or overwrite=true to replace it';
    expectError(await begin(NAME, 10), 409, UPLOADS, taken);
    const path = await begun(NAME, CONTENT.length, { query: '?overwrite=true' });
    expect(await digestOf('gearbox.wbpz')).toBe(sha256Of(Buffer.from('the first')));
    await sendPart(path, 0, CONTENT);
    expect(await digestOf('gearbox.wbpz')).toBe(sha256Of(CONTENT));
  });

  it('is a 423 while the input storage is off', async () => {
    await replaceHub({ config: { storage: { input: { enabled: false } } } });
    const off = 'the input storage of this hub is not enabled (storage.input.enabled)';
    expectError(await begin(NAME, 10), 423, UPLOADS, off);
    expectError(await api.get(UPLOADS), 423, UPLOADS, off);
    expectError(await sendPart(`${UPLOADS}/x`, 0, CONTENT), 423, `${UPLOADS}/x`, off);
  });
});

describe('an unfinished upload', () => {
  it('is listed with its state', async () => {
    const path = await begun({ ...NAME, sha256: sha256Of(CONTENT) }, CONTENT.length);
    await sendPart(path, 0, CONTENT.subarray(0, 1000));
    const { body } = await api.get(UPLOADS);
    const shown = {
      id: path.split('/').at(-1),
      name: 'gearbox.wbpz',
      size: CONTENT.length,
      received: 1000,
      digest: sha256Of(CONTENT),
      overwrite: false,
      encrypt: false,
      stored: false,
    };
    expect(body).toEqual({ uploads: [expect.objectContaining(shown)] });
    expect((await api.get(path)).body).toEqual(expect.objectContaining(shown));
  });

  it('whose name was taken meanwhile is a 409, and ends', async () => {
    const path = await begun(NAME, CONTENT.length);
    await upload('gearbox.wbpz', 'the first');
    expect((await sendPart(path, 0, CONTENT)).status).toBe(409);
    expect((await state(path)).status).toBe(404);
    expect((await api.get(UPLOADS)).body).toEqual({ uploads: [] });
    await eventually(async () => (await blobFiles()).length === 0);
  });

  it('counts for the quota with its whole size until it ends', async () => {
    await replaceHub({ config: { storage: { input: { quotaPerUser: 1000 } } } });
    const path = await begun(NAME, 600);
    const over =
      'file: your other files in the input storage have 600 bytes, of 1000 that you may have ' +
      '(storage.input.quotaPerUser); delete some, or wait until they expire';
    expectError(await begin({ filename: 'other' }, 401), 413, UPLOADS, over);
    expect((await upload('other', Buffer.alloc(401))).status).toBe(413);
    expect((await upload('other', Buffer.alloc(400))).status).toBe(204);
    expect((await sendPart(path, 0, CONTENT.subarray(0, 600))).status).toBe(204);
    expect((await begin({ filename: 'third' }, 1)).status).toBe(413);
    await api.delete('/api/2.0/storage/input/gearbox.wbpz/delete');
    const third = await begun({ filename: 'third' }, 600);
    await api.call('DELETE', third, { headers: { 'tus-resumable': '1.0.0' } });
    expect((await begin({ filename: 'third' }, 600)).status).toBe(201);
  });

  it('expires when it makes no progress', async () => {
    const runtime = new HandDrivenRuntime();
    await replaceHub({ runtime, config: { storage: { input: { keepUploadsFor: '2h' } } } });
    const path = await begun(NAME, CONTENT.length);
    runtime.skip(7_200_000 - 1);
    await sendPart(path, 0, CONTENT.subarray(0, 100_000));
    const expiresAt = (await state(path)).headers.get('upload-expires');
    expect(expiresAt).toBe(new Date(runtime.clock.nowMs() + 7_200_000).toUTCString());
    runtime.skip(7_200_000 - 1);
    expect(await offsetOf(path)).toBe(100_000);
    runtime.skip(1);
    expect((await state(path)).status).toBe(404);
    expectError(await sendPart(path, 100_000, CONTENT.subarray(100_000)), 404, path, ABSENT);
    expect((await api.get(UPLOADS)).body).toEqual({ uploads: [] });
  });

  it('is one of at most 1000 of a user', async () => {
    for (let number = 0; number < 1000; number += 50) {
      const some = Array.from({ length: 50 }, (_, at) => begin({ filename: `file-${number + at}` }, 10));
      for (const { status } of await Promise.all(some)) expect(status).toBe(201);
    }
    const message =
      'you have 1000 unfinished uploads, as many as a user may have; finish or delete some, or wait until they expire';
    expectError(await begin({ filename: 'one-more' }, 10), 413, UPLOADS, message);
  });

  it('whose bytes are gone, as after a restore, is a 404', async () => {
    const path = await begun(NAME, CONTENT.length);
    await sendPart(path, 0, CONTENT.subarray(0, 1000));
    await rm(join(hub.config.dataDir, 'files', 'uploads', path.split('/').at(-1) ?? ''));
    expectError(await sendPart(path, 1000, CONTENT.subarray(1000)), 404, path, ABSENT);
    expect((await begun(NAME, CONTENT.length)).length).toBeGreaterThan(0);
  });
});
