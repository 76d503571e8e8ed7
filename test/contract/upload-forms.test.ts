/** Forms of uploads to the input storage (contract 7.2). */
import { describe, expect, it } from 'vitest';
import { hubForEachTest } from '../support/hubs/hub-for-tests.js';
import { expectError } from '../support/interface/api.js';
import { type Form, filePart, formOf } from '../support/interface/forms.js';
import { exists, send, UPLOAD } from '../support/interface/input-storage.js';

hubForEachTest();

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
      'with far too many parts',
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
