import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { descriptorTarget, logSink } from './log-sink.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'workbench-hub-log-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

const note = (lines: number) => `lost ${lines}\n`;

describe('a log sink', () => {
  it('writes lines in order', async () => {
    const file = join(folder, 'log');
    const fd = openSync(file, 'a');
    const sink = logSink(descriptorTarget(fd), note);
    for (let line = 0; line < 1000; line++) sink.write(`line ${line}\n`);
    await sink.flushed();
    closeSync(fd);
    expect(readFileSync(file, 'utf8')).toBe(
      Array.from({ length: 1000 }, (_, line) => `line ${line}\n`).join(''),
    );
  });

  it('neither fails nor hangs on a full disk', async () => {
    const fd = openSync('/dev/full', 'w');
    const sink = logSink(descriptorTarget(fd), note);
    sink.write('lost\n');
    await sink.flushed();
    sink.write('lost too\n');
    await sink.flushed();
    closeSync(fd);
  });

  it('logs how many lines were lost, once it can write again', async () => {
    // Writing to a pipe fails without a reader and works with one: the same descriptor, first without, then with.
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const both = openSync(pipe, 'r+');
    const fd = openSync(pipe, 'w');
    closeSync(both);
    const sink = logSink(descriptorTarget(fd), note);
    sink.write('one\n');
    sink.write('two\n');
    await sink.flushed();
    const reader = openSync(pipe, 'r+');
    sink.write('three\n');
    await sink.flushed();
    const buffer = Buffer.alloc(100);
    expect(buffer.toString('utf8', 0, readSync(reader, buffer))).toBe('lost 2\nthree\n');
    closeSync(reader);
    closeSync(fd);
  });
});
