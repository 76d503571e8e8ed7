/** Batch jobs with bodies too large for memory, which are parsed as they arrive (contract 3.2 and 3.7). */
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { PREPARE_SHUTDOWN } from '../support/hubs/hubs-under-test.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api, base64, expectError } from '../support/interface/api.js';
import { PATH, SCRIPT } from './batch-job-requests.js';

const MIB = 1024 * 1024;
const NOT_BASE64 = 'must be Base64 (RFC 4648 section 4) with padding';
const NOWHERE = [{ type: 'VERSION', value: 'none' }];

let hub: RunningHub;
let api: Api;
beforeAll(async () => {
  hub = await startHub({
    config: { limits: { requestBody: '12MiB', fileSize: '6MiB', filesPerTask: 50 } },
  });
  api = new Api(hub);
});
afterAll(() => hub.stop());

/** Bytes that repeat only after a prime number of them, so that no piece looks like another. */
function bytes(length: number, step = 1): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, at) => (at * step) % 251));
}

const model = (content: string) => ({ inputModel: { type: 'MJCF', content } });
const textOf = (request: object) =>
  JSON.stringify({ classifiers: NOWHERE, inputScripts: [SCRIPT], ...request });

/** Half-written files of the hub. */
const halfWritten = () => readdir(join(hub.config.dataDir, 'files', 'incoming'));
const taskCount = async () => (await api.get('/api/2.0/workbench/task/list')).body['totalElements'];

/** Sends it without saying how long it is. */
function inPieces(text: string): ReadableStream {
  const pieces = Buffer.from(text);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < pieces.length; at += 100_000)
        controller.enqueue(pieces.subarray(at, at + 100_000));
      controller.close();
    },
  });
}

describe('a large body', () => {
  it.each(['2.0', '1.1', '1.0'])('reaches the agent unchanged, in %s', async (generation) => {
    const agent = await FakeAgent.join(hub);
    const contents = [bytes(3_000_001), bytes(100, 3), bytes(700_000, 7), bytes(0), bytes(40_000, 5)];
    const [modelText = '', ...others] = contents.map((content) => content.toString('base64'));
    const [first = '', second = '', third = '', fourth = ''] = others;
    const text = JSON.stringify({
      additionalFiles: [
        { filename: 'ü/"a".bin', content: third },
        { content: fourth, filename: 'b' },
      ],
      inputModel: { content: modelText, type: 'mjcf' },
      inputScripts: [{ content: first }, { content: second }],
      variablesToInject: [{ key: 'speed', value: 'ü\u2028"\\' }],
      ignored: [{ content: 'no Base64' }, null, true, -1.5e3],
    });
    // Some write every slash and every plus with an escape.
    const escaped = text.replaceAll('/', '\\/').replaceAll('+', '\\u002b');
    const path = PATH.replace('2.0', generation);
    for (const raw of [text, escaped, inPieces(text), inPieces(escaped), `\ufeff ${text}\n`]) {
      const answer = await api.call('POST', path, { raw });
      expect(answer.status, answer.text).toBe(201);
      const { job, ref } = await agent.hear('assign');
      if (job.type !== 'EXECUTE_BATCH_JOB' || job.model?.kind !== 'BLOB') throw new Error('another job');
      expect(job.variables).toEqual([{ key: 'speed', value: 'ü\u2028"\\' }]);
      expect(job.model.path).toBe('model.mjcf');
      expect(job.additionalFiles.map((file) => file.path)).toEqual(['ü/"a".bin', 'b']);
      const got = [job.model, ...job.scripts, ...job.additionalFiles];
      for (const [at, { digest, sizeBytes }] of got.entries()) {
        const content = Buffer.from(await (await agent.file(digest)).arrayBuffer());
        expect([sizeBytes, content.equals(contents[at] as Buffer)]).toEqual([contents[at]?.length, true]);
      }
      await agent.end(ref, 'OK');
    }
    await agent.leave();
  });

  it('uses the last of members with the same name, as a small one does', async () => {
    const agent = await FakeAgent.join(hub);
    const lost = bytes(900_000).toString('base64');
    const kept = bytes(500_000, 3);
    const text = `{"inputModel":{"type":"WBPZ","content":"${lost}","content":"${kept.toString('base64')}"},
      "inputScripts":[{"content":"${lost}"}],"inputScripts":[${JSON.stringify(SCRIPT)}]}`;
    expect((await api.call('POST', PATH, { raw: text })).status).toBe(201);
    const { job, ref } = await agent.hear('assign');
    expect(job).toMatchObject({ model: { sizeBytes: 500_000 }, scripts: [{ sizeBytes: 8 }] });
    await agent.end(ref, 'OK');
    await agent.leave();
  });
});

describe('a large body with an error is refused', () => {
  const large = bytes(3 * MIB).toString('base64');
  const notJson = /^body: is not JSON: /;

  it.each<[string, string | Buffer, number, string | RegExp]>([
    [
      'Base64 with a fault at its end',
      textOf(model(`${large}*AAA`)),
      400,
      `inputModel.content: ${NOT_BASE64}`,
    ],
    [
      'Base64 without its padding',
      textOf({ inputScripts: [SCRIPT, { content: `${large}AA` }] }),
      400,
      `inputScripts[1].content: ${NOT_BASE64}`,
    ],
    [
      'Base64 that goes on behind its padding',
      textOf({ additionalFiles: [{ filename: 'a', content: `${large}AA==AAAA` }] }),
      400,
      `additionalFiles[0].content: ${NOT_BASE64}`,
    ],
    ['Base64 of URLs', textOf(model(`${large}AA-_`)), 400, `inputModel.content: ${NOT_BASE64}`],
    ['something behind the end', `${textOf(model(large))}x`, 400, notJson],
    ['no end', textOf(model(large)).slice(0, -1), 400, notJson],
    ['no JSON', `{"a": ${'1 '.repeat(MIB)}}`, 400, notJson],
    ['nothing but space', ' '.repeat(MIB), 400, /^body: is /],
    [
      'bytes that are not UTF-8',
      Buffer.concat([
        Buffer.from(`{"inputModel":{"content":"${large}"},"name":"`),
        Buffer.of(0xff),
        Buffer.from('"}'),
      ]),
      400,
      notJson,
    ],
    [
      'half of a character',
      Buffer.concat([Buffer.from(`${' '.repeat(MIB)}"`), Buffer.of(0xc3)]),
      400,
      notJson,
    ],
    ['too deep nesting', `{"a":${'['.repeat(MIB)}`, 400, 'body: must not be nested more than 1000 deep'],
    ['no scripts', textOf({ ...model(large), inputScripts: undefined }), 400, 'inputScripts: is required'],
    [
      'faults in what is left',
      textOf({ inputModel: { content: large }, timeLimit: 0, inputScripts: [{ content: 5 }, {}] }),
      400,
      'timeLimit: must be at least 1; inputModel.type: is required; inputScripts[0].content: must be a text; inputScripts[1].content: is required',
    ],
    [
      'a file too large',
      textOf({ additionalFiles: [{ filename: 'a', content: bytes(6 * MIB + 1).toString('base64') }] }),
      413,
      'additionalFiles[0].content: a file may have at most 6291456 bytes (limits.fileSize)',
    ],
    [
      'too many files',
      textOf({ ...model(large), inputScripts: Array.from({ length: 50 }, () => SCRIPT) }),
      400,
      'inputScripts, additionalFiles: a task may have at most 50 files: model, scripts and additional files (limits.filesPerTask)',
    ],
    [
      'a body too large',
      textOf({ name: 'x'.repeat(12 * MIB) }),
      413,
      /^the body may have at most 12582912 bytes \(limits.requestBody\)$/,
    ],
  ])('%s', async (_, raw, status, message) => {
    const before = await taskCount();
    expectError(await api.call('POST', PATH, { raw }), status, PATH, message);
    if (typeof raw === 'string')
      expectError(await api.call('POST', PATH, { raw: inPieces(raw) }), status, PATH, message);
    expect(await halfWritten()).toEqual([]);
    expect(await taskCount()).toBe(before);
  });

  it('when 500 MiB of good Base64 end with an error, and nothing of it is kept', async () => {
    const { stop, ...roomy } = await startHub();
    const ofRoomy = new Api(roomy);
    const piece = Buffer.from(bytes(768 * 1024).toString('base64'));
    function* body() {
      yield Buffer.from(`{"inputScripts":[{"content":"cHJpbnQ="}],"inputModel":{"type":"MJCF","content":"`);
      for (let sentBytes = 0; sentBytes < 500 * MIB; sentBytes += 768 * 1024) yield piece;
      yield Buffer.from('AA*A"}}');
    }
    const answer = await ofRoomy.call('POST', PATH, { raw: ReadableStream.from(body()) as ReadableStream });
    expectError(answer, 400, PATH, `inputModel.content: ${NOT_BASE64}`);
    const left = await readdir(join(roomy.config.dataDir, 'files'), { recursive: true });
    expect(left.filter((name) => name !== 'incoming' && name !== 'uploads')).toEqual([]);
    expect((await ofRoomy.post(PATH, JSON.parse(textOf(model(base64('good')))))).status).toBe(201);
    await stop();
  });

  it('with the same limits as a small one', async () => {
    const { stop, ...small } = await startHub({ config: { limits: { fileSize: '1KiB', filesPerTask: 3 } } });
    const ofSmall = new Api(small);
    const answer = await ofSmall.post(PATH, JSON.parse(textOf(model(base64(bytes(1025))))));
    expectError(
      answer,
      413,
      PATH,
      'inputModel.content: a file may have at most 1024 bytes (limits.fileSize)',
    );
    const many = { inputScripts: [SCRIPT, SCRIPT, SCRIPT], inputModel: { type: 'WBPZ', content: '' } };
    expectError(await ofSmall.post(PATH, many), 400, PATH, /at most 3 files.*\(limits\.filesPerTask\)$/);
    await stop();
  });
});

/** A connection that sends given texts; `heard` holds all that came back. */
async function connection(): Promise<{ socket: Socket; heard: () => string; closed: Promise<unknown> }> {
  const { hostname, port } = new URL(hub.address);
  const socket = connect(Number(port), hostname);
  let heard = '';
  socket.on('data', (piece: Buffer) => {
    heard += piece.toString();
  });
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  return { socket, heard: () => heard, closed };
}

const headOf = (length: number, more = '') =>
  `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ${length}\r\n${more}\r\n`;

describe('a body that costs more than its size', () => {
  it('in chunks of one byte is refused after a few thousand of them', async () => {
    for (const [path, type] of [
      [PATH, 'application/json'],
      ['/api/2.0/workbench/task/simulate-work/create', 'application/json'],
      ['/api/2.0/storage/input/upload', 'multipart/form-data; boundary=b'],
    ]) {
      const { socket, heard, closed } = await connection();
      const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`;
      socket.write(head + '1\r\n \r\n'.repeat(20_000));
      await eventually(() => heard().includes('comes in more than 5000 chunks of less than 16 bytes'));
      expect(heard()).toMatch(/^HTTP\/1\.1 400 /);
      await closed;
    }
  });

  it('with many deeply nested texts is parsed no slower than with flat ones', async () => {
    const texts = Array.from({ length: 150_000 }, () => '""').join(',');
    const durationOf = async (depth: number) => {
      const began = performance.now();
      const body = `{"x":${'['.repeat(depth)}${texts}${']'.repeat(depth)}}`;
      expect((await api.call('POST', PATH, { raw: body })).status).toBe(400);
      return performance.now() - began;
    };
    const flatMs = await durationOf(1);
    expect(await durationOf(990)).toBeLessThan(5 * flatMs + 500);
  });
});

describe('a connection with a large body', () => {
  const text = textOf(model(bytes(6 * MIB).toString('base64')));

  it.each([10, 50, 99])('that is cut at %d percent of the body leaves nothing', async (percent) => {
    const before = await taskCount();
    const { socket, closed } = await connection();
    socket.write(headOf(text.length));
    await new Promise((resolve) => socket.write(text.slice(0, (text.length * percent) / 100), resolve));
    // Others are served while this one is under way.
    await eventually(async () => (await halfWritten()).length === 1);
    expect((await api.get('/livez')).status).toBe(200);
    socket.destroy();
    await closed;
    await eventually(async () => (await halfWritten()).length === 0);
    expect(await taskCount()).toBe(before);
    expect(hub.log.filter(({ level }) => level >= 50)).toEqual([]);
  });

  it('gets its response while it still sends when the beginning is wrong', async () => {
    const { socket, heard, closed } = await connection();
    socket.write(`${headOf(11 * MIB)}{"inputModel": {"content": "*${'A'.repeat(300 * 1024)}`);
    await eventually(() => heard().includes(`inputModel.content: ${NOT_BASE64}`));
    expect(heard()).toMatch(/^HTTP\/1\.1 400 /);
    await closed;
  });

  it('that sends Expect gets 100 Continue and its response', async () => {
    const { socket, heard, closed } = await connection();
    socket.write(headOf(text.length, 'Expect: 100-continue\r\n'));
    await eventually(() => heard() === 'HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(text);
    await closed;
    expect(heard()).toMatch(/\r\n\r\nHTTP\/1\.1 201 /);
  });

  it('that sends Expect is refused before it sends the body', async () => {
    await api.post(PREPARE_SHUTDOWN, { initiated: true });
    const { socket, heard, closed } = await connection();
    socket.write(headOf(text.length, 'Expect: 100-continue\r\n'));
    await closed;
    expect(heard()).toMatch(/^HTTP\/1\.1 423 /);
    expect(heard()).not.toContain('100 Continue');
    await api.post('/api/2.0/admin/prepare-shutdown/change', { initiated: false });
  });
});
