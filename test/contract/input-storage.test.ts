/** The input storage (contract 7.1 to 7.5). */

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Api, expectError } from '../support/api.js';
import { eventually } from '../support/eventually.js';
import { type Form, filePart, formOf, formWithFile } from '../support/forms.js';
import { HandDrivenRuntime } from '../support/hand-driven-runtime.js';
import { type HubSetup, type RunningHub, startHub } from '../support/running-hub.js';

const STATUS = '/api/2.1/storage/input/status';
const INPUT = '/api/2.0/storage/input';
const UPLOAD = `${INPUT}/upload`;
const DAY_MS = 86_400_000;
const LARGE = Buffer.alloc(300_000, 'a large file, more than the database takes');

let hub: RunningHub;
let api: Api;
const start = async (setup: HubSetup = {}) => {
  await hub?.stop();
  hub = await startHub(setup);
  api = new Api(hub);
};
beforeEach(() => start());
afterEach(() => hub.stop());

const send = (form: Form, query = '') => api.call('POST', UPLOAD + query, form);
const upload = (name: string, content: string | Buffer, query = '') =>
  send(formWithFile(name, content), query);
const exists = async (name: string) => (await api.get(`${INPUT}/${name}`)).body['exists'];

async function pathsOnDisk(): Promise<string[]> {
  const entries = await readdir(join(hub.config.dataDir, 'files'), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/** The blobs that lie as files, by their names. */
async function contentsOnDisk(): Promise<string[]> {
  return (await pathsOnDisk()).map((path) => basename(path));
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
    expect(await answer.head()).toMatch(/^HTTP\/1\.1 409 Conflict\r\n/);
    answer.cut();
    expect(await contentsOnDisk()).toEqual([]);
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
    const { dataDir } = hub.config;
    await hub.stop();
    const folder = `${dataDir}-kept`;
    await start({ dataDir: folder });
    await upload('kept.wbpz', LARGE);
    await start({ dataDir: folder });
    expect(await exists('kept.wbpz')).toBe(true);
  });

  it('expires unless it is renewed', async () => {
    const runtime = new HandDrivenRuntime();
    await start({ runtime, config: { storage: { input: { expireAfter: '2d' } } } });
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
    const [only, ...others] = await contentsOnDisk();
    expect([only, others]).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.sealed$/), []]);
    // Neither the name nor the file tells whether it is a blob that somebody guesses.
    const digest = createHash('sha256').update(content).digest();
    expect(only).not.toContain(digest.toString('hex'));
    const [path = ''] = await pathsOnDisk();
    expect((await readFile(path)).includes(digest)).toBe(false);
    const entries = await readdir(hub.config.dataDir, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((each) => each.isFile())) {
      const bytes = await readFile(join(entry.parentPath, entry.name));
      expect(bytes.includes(content.subarray(0, 20)), entry.name).toBe(false);
    }
  });
});

describe('the name of an input file', () => {
  it.each([
    ['of 3 characters', 'a.b'],
    ['of 64 characters', `a${'-'.repeat(62)}Z`],
    ['of digits', '123'],
    ['with every other character', '0._-._-'],
  ])('%s is accepted', async (_, name) => {
    expect((await upload(name, 'x')).status).toBe(204);
    expect(await exists(name)).toBe(true);
  });

  it.each<[string, string | Buffer]>([
    ['of 2 characters', 'ab'],
    ['of 65 characters', 'a'.repeat(65)],
    ['that is empty', ''],
    ['that begins with a dot', '.profile'],
    ['that begins with a minus', '-rf'],
    ['that leads out', '../../etc/passwd'],
    ['that leads out, encoded', '..%2f..%2fpasswd'],
    ['that leads out, encoded twice', '..%252fpasswd'],
    ['with a folder', 'models/gearbox.wbpz'],
    ['with an encoded folder', 'models%2Fgearbox.wbpz'],
    ['with a folder in overlong UTF-8', Buffer.from('models\xc0\xafgearbox', 'latin1')],
    ['with a fraction slash', 'models⁄gearbox.wbpz'],
    ['with a full-width slash', 'models／gearbox.wbpz'],
    ['with backslashes', 'C:\\\\models\\\\gearbox.wbpz'],
    ['with a NUL', 'gear\0box.wbpz'],
    ['with an encoded NUL', 'gear%00box.wbpz'],
    ['with a space', 'gear box.wbpz'],
    ['with a letter that is not ASCII', 'getriebegröße.wbpz'],
    ['that is not UTF-8', Buffer.from('gr\xf6\xdfe.wbpz', 'latin1')],
  ])('%s is refused', async (_, name) => {
    const disposition = Buffer.concat([Buffer.from('; filename="'), Buffer.from(name), Buffer.from('"')]);
    const answer = await send(formOf([filePart(disposition, 'x')]));
    expectError(
      answer,
      400,
      UPLOAD,
      /^file: must have 3 to 64 characters, of which the first is a letter or digit/,
    );
  });

  it.each([
    ['CON', 'the name of a device'],
    ['nul.txt', 'the name of a device'],
    ['Com1.tar.gz', 'the name of a device'],
    ['LPT9', 'the name of a device'],
    ['aux', 'the name of a device'],
    ['gearbox.', 'end with a dot'],
  ])('that Windows does not allow is refused: %s', async (name, why) => {
    const answer = await upload(name, 'x');
    expectError(answer, 400, UPLOAD, new RegExp(`^file: must not (be )?${why}`));
    expect(await exists(name)).toBe(false);
    expect((await upload(`x${name.replace(/\.$/, '')}`, 'x')).status).toBe(204);
    // One of an earlier version can be deleted.
    expect((await api.delete(`${INPUT}/${name}/delete`)).status).toBe(204);
  });

  it.each([
    ['that leads out', `; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd`],
    ['with a NUL', `; filename*=UTF-8''gear%00box`],
    ['with letters that are not ASCII', `; filename*=UTF-8''gr%C3%B6%C3%9Fe`],
    ['that is not UTF-8', `; filename*=UTF-8''gr%F6%DFe`],
  ])('in the extended form %s is refused', async (_, disposition) => {
    const answer = await send(formOf([filePart(disposition, 'x')]));
    expectError(answer, 400, UPLOAD, /^file: must have /);
    expect(await exists('good.wbpz')).toBe(false);
  });

  it('in the extended form beside the plain one is ignored, because forms do not use it (RFC 7578, 4.2)', async () => {
    const both = filePart(`; filename="good.wbpz"; filename*=UTF-8''..%2Fbad`, 'x');
    expect((await send(formOf([both]))).status).toBe(204);
    expect(await exists('good.wbpz')).toBe(true);
  });

  it.each([
    'ab',
    'a'.repeat(65),
    '.profile',
    '..%2fpasswd',
    'a%00b',
    'a%2fb',
    'a%5cb',
    'gr%C3%B6%C3%9Fe',
    '%ff%ff%ff',
  ])('that is invalid is refused in paths too: %s', async (name) => {
    const answers = [await api.get(`${INPUT}/${name}`), await api.delete(`${INPUT}/${name}/delete`)];
    expectError(answers[0] as never, 400, `${INPUT}/${name}`, /^name: must have 3 to 64 characters/);
    expectError(answers[1] as never, 400, `${INPUT}/${name}/delete`, /^name: must have 3 to 64 characters/);
  });
});

describe('an upload form is refused', () => {
  const good = filePart('; filename="good.wbpz"', 'x');
  const form = (text: string | Buffer, type = 'multipart/form-data; boundary=b'): Form => ({
    raw: Buffer.from(text),
    headers: { 'content-type': type },
  });
  const head = (disposition: string) => `--b\r\nContent-Disposition: ${disposition}\r\n\r\nx\r\n`;

  it.each<[string, Form, RegExp]>([
    ['without a part', formOf([]), /^(?:file: is required|body: is no multipart\/form-data)/],
    [
      'with a field only',
      formOf([{ head: 'Content-Disposition: form-data; name="a"', content: 'x' }]),
      /^file: is required/,
    ],
    [
      'whose file is called otherwise',
      form(`${head('form-data; name="model"; filename="good.wbpz"')}--b--\r\n`),
      /^file: is required; the part "model" is not known/,
    ],
    [
      'whose file has no name',
      form(`${head('form-data; name="file"')}--b--\r\n`),
      /^file: must have a file name/,
    ],
    [
      'whose file has a type and no name',
      form(
        '--b\r\nContent-Disposition: form-data; name="file"\r\nContent-Type: application/octet-stream\r\n\r\nx\r\n--b--\r\n',
      ),
      /^file: must have a file name/,
    ],
    [
      'without a disposition',
      form('--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--\r\n'),
      /^file: is required/,
    ],
    ['with two files', formOf([good, filePart('; filename="other.wbpz"', 'y')]), /^file: must be given once/],
    ['with the same file twice', formOf([good, good]), /^file: must be given once/],
    [
      'with a file beside it',
      formOf([
        good,
        { head: 'Content-Disposition: form-data; name="more"; filename="more.wbpz"', content: 'y' },
      ]),
      /^file: is required; the part "more" is not known/,
    ],
    [
      'that ends in the middle of the file',
      form(head('form-data; name="file"; filename="good.wbpz"')),
      /^body: is no multipart\/form-data: /,
    ],
    [
      'that ends in the middle of a head',
      form('--b\r\nContent-Disposition: form-'),
      /^body: is no multipart\/form-data: /,
    ],
    ['that is empty', form(''), /^(?:body|file): /],
    ['that is none', form('x'.repeat(10_000)), /^(?:body|file): /],
    [
      'without a boundary',
      form('--b--', 'multipart/form-data'),
      /^body: must be multipart\/form-data with a boundary/,
    ],
    [
      'with an empty boundary',
      form('--b--', 'multipart/form-data; charset=b'),
      /^body: is no multipart\/form-data: /,
    ],
    [
      'of another kind',
      form('file=x', 'application/x-www-form-urlencoded'),
      /^body: must be multipart\/form-data/,
    ],
    ['that is JSON', form('{"file":"x"}', 'application/json'), /^body: must be multipart\/form-data/],
    [
      'with more parts than anybody sends',
      formOf([
        ...Array.from({ length: 101 }, () => ({
          head: 'Content-Disposition: form-data; name="a"',
          content: 'x',
        })),
        good,
      ]),
      /^file: must be among the first 100 parts/,
    ],
  ])('%s', async (_, bad, message) => {
    expectError(await send(bad), 400, UPLOAD, message);
    expect(await exists('good.wbpz')).toBe(false);
    expect(await exists('other.wbpz')).toBe(false);
    expect((await send(formOf([good]))).status).toBe(204);
  });

  it('not for fields beside the file, nor for data after its end', async () => {
    const field = { head: 'Content-Disposition: form-data; name="comment"', content: 'x' };
    const { raw, headers } = formOf([field, good, field]);
    expect((await send({ raw: Buffer.concat([raw, Buffer.from('epilogue')]), headers })).status).toBe(204);
    expect(await exists('good.wbpz')).toBe(true);
  });
});

describe('an upload whose connection is cut', () => {
  it.each([10, 50, 99])('at %d percent stores nothing and replaces nothing', async (percent) => {
    await upload('gearbox.wbpz', 'the first');
    const form = formWithFile('gearbox.wbpz', Buffer.alloc(3_000_000, 'a larger file'));
    for (const query of ['?overwrite=true', '?overwrite=true&encrypt=true']) {
      const answer = await beginUpload(form, (form.raw.length * percent) / 100, query);
      await eventually(async () => (await contentsOnDisk()).length > 0);
      answer.cut();
      await eventually(async () => (await contentsOnDisk()).length === 0);
    }
    expect(await exists('gearbox.wbpz')).toBe(true);
    expect(hub.log.filter(({ level }) => level >= 40)).toEqual([]);
    expect((await send(form, '?overwrite=true')).status).toBe(204);
  });
});

describe('limits of the input storage', () => {
  it('storage.input.maxFileSize: 413 for a file with one byte more', async () => {
    await start({ config: { storage: { input: { maxFileSize: 200_000 } } } });
    const tooLarge = 'file: may have at most 200000 bytes (storage.input.maxFileSize)';
    for (const query of ['', '?encrypt=true']) {
      expectError(await upload('large.wbpz', Buffer.alloc(200_001), query), 413, UPLOAD, tooLarge);
      expect(await exists('large.wbpz')).toBe(false);
    }
    expectError(await upload('larger.wbpz', Buffer.alloc(5_000_000)), 413, UPLOAD, tooLarge);
    expect((await upload('large.wbpz', Buffer.alloc(200_000))).status).toBe(204);
  });

  it('storage.input.quotaPerUser: 413 that says how much is used', async () => {
    await start({ config: { storage: { input: { quotaPerUser: 1000 } } } });
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
  await start({ config: { storage: { input: { enabled: false } } } });
  expect((await api.get(STATUS)).body).toEqual({ active: false });
  const off = 'the input storage of this hub is not enabled (storage.input.enabled)';
  expectError(await upload('a.wbpz', 'x'), 423, UPLOAD, off);
  expectError(await api.get(`${INPUT}/a.wbpz`), 423, `${INPUT}/a.wbpz`, off);
  expectError(await api.delete(`${INPUT}/a.wbpz/delete`), 423, `${INPUT}/a.wbpz/delete`, off);
});

/** Sends the beginning of an upload over a connection of its own. */
async function beginUpload(form: Form, bytes: number, query = '') {
  const { hostname, port } = new URL(hub.address);
  const socket = connect(Number(port), hostname);
  let heard = '';
  socket.on('data', (piece) => {
    heard += piece.toString();
  });
  socket.on('error', () => undefined);
  const head = [
    `POST ${UPLOAD}${query} HTTP/1.1`,
    `host: ${hostname}`,
    `content-length: ${form.raw.length}`,
    `content-type: ${form.headers['content-type']}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await new Promise<void>((resolve) => socket.write(form.raw.subarray(0, bytes), () => resolve()));
  return {
    head: () => eventually(() => (heard.includes('\r\n\r\n') ? heard : undefined)),
    cut: () => socket.destroy(),
  };
}
