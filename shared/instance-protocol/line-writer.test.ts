import { PassThrough, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { lineWriter } from './line-writer.js';

function recording() {
  const writes: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, taken) {
      writes.push(chunk);
      taken();
    },
  });
  return { stream, writes };
}

const turn = () => new Promise(setImmediate);

it('writes the lines of one turn together, and those of the next by themselves', async () => {
  const { stream, writes } = recording();
  const { write } = lineWriter(stream);
  void write('one');
  await Promise.resolve();
  void write('two');
  expect(writes).toEqual([]);
  await turn();
  void write('three');
  await turn();
  expect(writes).toEqual(['one\ntwo\n', 'three\n']);
});

it('writes at once what is long, or what must not wait', () => {
  const { stream, writes } = recording();
  const { write, flush } = lineWriter(stream);
  void write('short');
  flush();
  void write('x'.repeat(100_000));
  expect(writes.map((text) => text.length)).toEqual([6, 100_001]);
});

it('resolves when a line is written, and holds back while the stream is full', async () => {
  const stream = new PassThrough({ highWaterMark: 10 });
  const { write } = lineWriter(stream);
  await write('x');
  expect(stream.readableLength).toBe(2);
  let isDrained = false;
  const drained = write('y'.repeat(20)).then(() => {
    isDrained = true;
  });
  await turn();
  await turn();
  expect(isDrained).toBe(false);
  stream.resume();
  await drained;
});

it('holds nobody back when the stream is broken', async () => {
  const stream = new PassThrough({ highWaterMark: 10 });
  stream.on('error', () => undefined);
  const { write } = lineWriter(stream);
  const held = write('x'.repeat(20));
  await turn();
  stream.destroy(new Error('EPIPE'));
  await held;
  await write('more');
});
