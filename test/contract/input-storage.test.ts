/** The input storage (contract 7.1 to 7.5). */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest, replaceHub } from '../support/hubs/hub-for-tests.js';
import { HUBS } from '../support/hubs/hubs-under-test.js';
import { expectError } from '../support/interface/api.js';
import { formWithFile } from '../support/interface/forms.js';
import {
  beginUpload,
  blobFiles,
  exists,
  INPUT,
  send,
  UPLOAD,
  upload,
} from '../support/interface/input-storage.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const STATUS = '/api/2.1/storage/input/status';
const DAY_MS = 86_400_000;
const LARGE = Buffer.alloc(300_000, 'a large file, more than the database takes');

hubForEachTest();

async function namesOnDisk(): Promise<string[]> {
  return (await blobFiles()).map((path) => basename(path));
}

it('the status of the input storage is enabled', async () => {
  const { status, body } = await api.get(STATUS);
  expect([status, body]).toEqual([200, { active: true }]);
});

describe('a file in the input storage', () => {
  it.each<[string, string | Buffer]>([
    ['empty', ''],
    ['small', 'the model'],
    ['large', LARGE],
  ])('that is %s exists after its upload, and not before', async (_, content) => {
    expect(await exists('gearbox.wbpz')).toBe(false);
    const { status, text } = await upload('gearbox.wbpz', content);
    expect([status, text]).toEqual([204, '']);
    expect(await exists('gearbox.wbpz')).toBe(true);
    expect(await exists('gearbox.wbp')).toBe(false);
  });

  it('can be deleted repeatedly', async () => {
    await upload('gearbox.wbpz', 'the model');
    for (let times = 0; times < 2; times++) {
      const { status, text } = await api.delete(`${INPUT}/gearbox.wbpz/delete`);
      expect([status, text]).toEqual([204, '']);
      expect(await exists('gearbox.wbpz')).toBe(false);
    }
  });

  it('with an existing name is refused, unless it may overwrite', async () => {
    await upload('gearbox.wbpz', 'the first');
    const taken =
      'there is a file gearbox.wbpz in the input storage already; give another name, or overwrite=true to replace it';
    expectError(await upload('gearbox.wbpz', LARGE), 409, UPLOAD, taken);
    expectError(await upload('gearbox.wbpz', 'x', '?overwrite=false'), 409, UPLOAD, taken);
    expect((await upload('gearbox.wbpz', 'the second', '?overwrite=true')).status).toBe(204);
  });

  it('with an existing name is refused before all of it has arrived', async () => {
    await upload('gearbox.wbpz', 'the first');
    const form = formWithFile('gearbox.wbpz', LARGE);
    const answer = await beginUpload(form, form.raw.length / 10);
    expect(await answer.responseHead()).toMatch(/^HTTP\/1\.1 409 Conflict\r\n/);
    answer.cut();
    expect(await namesOnDisk()).toEqual([]);
  });

  it('uploaded several times at once under one name is stored once, and the others are refused', async () => {
    const forms = Array.from({ length: 8 }, (_, at) =>
      formWithFile('one.name', Buffer.alloc(100_000, `${at}`)),
    );
    const answers = await Promise.all(forms.map((form) => send(form)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array(7).fill(409)]);
    const over = await Promise.all(forms.map((form) => send(form, '?overwrite=true')));
    expect(over.map(({ status }) => status)).toEqual(Array(8).fill(204));
  });

  it('is still there after a restart', async () => {
    const { path: dataDir, remove } = await temporaryFolder();
    onTestFinished(remove);
    await replaceHub({ dataDir });
    await upload('kept.wbpz', LARGE);
    await replaceHub({ dataDir });
    expect(await exists('kept.wbpz')).toBe(true);
  });

  it('expires unless it is renewed', async () => {
    const runtime = new HandDrivenRuntime();
    await replaceHub({ runtime, config: { storage: { input: { expireAfter: '2d' } } } });
    await upload('a.wbpz', 'a');
    await upload('b.wbpz', 'b');
    runtime.skip(2 * DAY_MS - 1);
    const renewed = await api.get(`${INPUT}/a.wbpz?renewExpirationTimestamp=true`);
    expect(renewed.body).toEqual({ exists: true });
    runtime.skip(1);
    expect([await exists('a.wbpz'), await exists('b.wbpz')]).toEqual([true, false]);
    expect((await api.get(`${INPUT}/b.wbpz?renewExpirationTimestamp=true`)).body).toEqual({ exists: false });
    expect((await upload('b.wbpz', 'b again')).status).toBe(204);
    runtime.skip(2 * DAY_MS - 1);
    expect([await exists('a.wbpz'), await exists('b.wbpz')]).toEqual([false, true]);
  });
});

describe('an encrypted file', () => {
  it.each<[string, Buffer]>([
    ['small', Buffer.from('a secret of the company')],
    ['large', LARGE],
  ])('that is %s is stored nowhere in plain', async (_, content) => {
    expect((await upload('secret.wbpz', content, '?encrypt=true')).status).toBe(204);
    const [only, ...others] = await namesOnDisk();
    expect([only, others]).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.sealed$/), []]);
    // Neither the name nor the file confirms a guess of the blob.
    const digest = createHash('sha256').update(content).digest();
    expect(only).not.toContain(digest.toString('hex'));
    const [path = ''] = await blobFiles();
    expect((await readFile(path)).includes(digest)).toBe(false);
    const entries = await readdir(hub.config.dataDir, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((each) => each.isFile())) {
      const bytes = await readFile(join(entry.parentPath, entry.name));
      expect(bytes.includes(content.subarray(0, 20)), entry.name).toBe(false);
    }
  });
});

describe('an upload whose connection is cut', () => {
  it.each([10, 50, 99])('at %d percent stores nothing and replaces nothing', async (percent) => {
    await upload('gearbox.wbpz', 'the first');
    const form = formWithFile('gearbox.wbpz', Buffer.alloc(3_000_000, 'a larger file'));
    for (const query of ['?overwrite=true', '?overwrite=true&encrypt=true']) {
      const answer = await beginUpload(form, (form.raw.length * percent) / 100, query);
      await eventually(async () => (await namesOnDisk()).length > 0);
      answer.cut();
      await eventually(async () => (await namesOnDisk()).length === 0);
    }
    expect(await exists('gearbox.wbpz')).toBe(true);
    expect(hub.log.filter(({ level }) => level >= 40)).toEqual([]);
    expect((await send(form, '?overwrite=true')).status).toBe(204);
  });
});

describe('limits of the input storage', () => {
  it('storage.input.maxFileSize: 413 for a file with one byte more', async () => {
    await replaceHub({ config: { storage: { input: { maxFileSize: 200_000 } } } });
    const tooLarge = 'file: may have at most 200000 bytes (storage.input.maxFileSize)';
    for (const query of ['', '?encrypt=true']) {
      expectError(await upload('large.wbpz', Buffer.alloc(200_001), query), 413, UPLOAD, tooLarge);
      expect(await exists('large.wbpz')).toBe(false);
    }
    // A proxy may lose the response of a hub that closes a connection over which it still sends.
    if (HUBS === 1) expectError(await upload('larger.wbpz', Buffer.alloc(5_000_000)), 413, UPLOAD, tooLarge);
    expect((await upload('large.wbpz', Buffer.alloc(200_000))).status).toBe(204);
  });

  it('storage.input.quotaPerUser: 413 that says how much is used', async () => {
    await replaceHub({ config: { storage: { input: { quotaPerUser: 1000 } } } });
    expect((await upload('a.wbpz', Buffer.alloc(600))).status).toBe(204);
    expectError(
      await upload('b.wbpz', Buffer.alloc(401)),
      413,
      UPLOAD,
      'file: your other files in the input storage have 600 bytes, of 1000 that you may have ' +
        '(storage.input.quotaPerUser); delete some, or wait until they expire',
    );
    expect((await upload('b.wbpz', Buffer.alloc(400))).status).toBe(204);
    expect((await upload('a.wbpz', Buffer.alloc(500), '?overwrite=true')).status).toBe(204);
    await api.delete(`${INPUT}/a.wbpz/delete`);
    expect((await upload('c.wbpz', Buffer.alloc(600))).status).toBe(204);
  });
});

it('the input storage answers all but its status with 423 while it is off', async () => {
  await replaceHub({ config: { storage: { input: { enabled: false } } } });
  expect((await api.get(STATUS)).body).toEqual({ active: false });
  const off = 'the input storage of this hub is not enabled (storage.input.enabled)';
  expectError(await upload('a.wbpz', 'x'), 423, UPLOAD, off);
  expectError(await api.get(`${INPUT}/a.wbpz`), 423, `${INPUT}/a.wbpz`, off);
  expectError(await api.delete(`${INPUT}/a.wbpz/delete`), 423, `${INPUT}/a.wbpz/delete`, off);
});
