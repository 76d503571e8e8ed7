/** GET /actuator/logfile, whole and in part (contract 9.4; RFC 9110, 14). */
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api, expectError } from '../support/interface/api.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const PATH = '/actuator/logfile';
const LOG = '{"msg":"größe"}\n0123456789\n';
const SIZE = Buffer.byteLength(LOG);

let folder: TemporaryFolder;
let file: string;
let hub: RunningHub;
let api: Api;
beforeAll(async () => {
  folder = await temporaryFolder();
  file = join(folder.path, 'hub.log');
  await writeFile(file, LOG);
  hub = await startHub({ config: { log: { file } } });
  api = new Api(hub);
});
afterAll(async () => {
  await hub.stop();
  await folder.remove();
});

const get = (range?: string) => api.call('GET', PATH, range === undefined ? {} : { headers: { range } });

it('the log file is returned as plain text, with Accept-Ranges', async () => {
  const { status, text, headers } = await get();
  expect([status, text]).toEqual([200, LOG]);
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(headers.get('content-length')).toBe(String(SIZE));
  expect(headers.get('accept-ranges')).toBe('bytes');
  expect(headers.get('content-range')).toBeNull();
});

it.each([
  ['a part', 'bytes=18-20', 18, 20, '012'],
  ['one byte', 'bytes=27-27', 27, 27, '9'],
  ['from a byte on', 'bytes=21-', 21, 28, '3456789\n'],
  ['the last bytes', 'bytes=-3', 26, 28, '89\n'],
  ['all of it', 'bytes=0-', 0, 28, LOG],
  ['up to its end, when more is asked for', 'bytes=26-9999999999', 26, 28, '89\n'],
  ['all of it, when more of the last bytes are asked for', 'bytes=-9999', 0, 28, LOG],
])('the log file is returned in part: %s', async (_, range, start, end, expected) => {
  const { status, text, headers } = await get(range);
  expect([status, text]).toEqual([206, expected]);
  expect(headers.get('content-range')).toBe(`bytes ${start}-${end}/${SIZE}`);
  expect(headers.get('content-length')).toBe(String(end - start + 1));
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
});

it.each([
  ['several parts', 'bytes=0-1,5-6'],
  ['another unit', 'lines=1-2'],
  ['backwards', 'bytes=5-2'],
  ['no range', 'bytes'],
  ['nothing', 'bytes='],
  ['rubbish', 'bytes=a-b'],
  ['rubbish of another kind', 'nonsense'],
])('the log file is returned whole for a range that is %s', async (_, range) => {
  const { status, text, headers } = await get(range);
  expect([status, text]).toEqual([200, LOG]);
  expect(headers.get('content-range')).toBeNull();
});

it.each(['bytes=29-', 'bytes=29-30', 'bytes=9999999999-', 'bytes=-0'])(
  'the log file answers an unsatisfiable range with 416 and the size: %s',
  async (range) => {
    const answer = await get(range);
    expectError(answer, 416, PATH, `the log file has ${SIZE} bytes`);
    expect(answer.headers.get('content-range')).toBe(`bytes */${SIZE}`);
  },
);

it('the log file answers HEAD with its size', async () => {
  const { status, headers, text } = await api.call('HEAD', PATH);
  expect([status, text, headers.get('content-length')]).toEqual([200, '', String(SIZE)]);
});

it('the log file can be followed by ranges while it grows', async () => {
  await appendFile(file, 'more\n');
  const { status, text, headers } = await get(`bytes=${SIZE}-`);
  expect([status, text]).toEqual([206, 'more\n']);
  expect(headers.get('content-range')).toBe(`bytes ${SIZE}-${SIZE + 4}/${SIZE + 5}`);
  await writeFile(file, LOG);
});

it.each([
  ['empty', ''],
  ['not there', undefined],
])('the log file is empty text when it is %s', async (_, content) => {
  const own = join(folder.path, `own-${content === undefined ? 'missing' : 'empty'}.log`);
  if (content !== undefined) await writeFile(own, content);
  const another = await startHub({ config: { log: { file: own } } });
  onTestFinished(another.stop);
  const anotherApi = new Api(another);
  const whole = await anotherApi.get(PATH);
  expect([whole.status, whole.text]).toEqual([200, '']);
  const part = await anotherApi.call('GET', PATH, { headers: { range: 'bytes=0-' } });
  expectError(part, 416, PATH, 'the log file has 0 bytes');
});
