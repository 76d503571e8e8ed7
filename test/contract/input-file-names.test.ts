/** Names of files in the input storage (contract 7.2). */
import { describe, expect, it } from 'vitest';
import { api, hubForEachTest } from '../support/hubs/hub-for-tests.js';
import { expectError } from '../support/interface/api.js';
import { filePart, formOf } from '../support/interface/forms.js';
import { exists, INPUT, send, UPLOAD, upload } from '../support/interface/input-storage.js';

hubForEachTest();

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
