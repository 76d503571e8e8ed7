import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { missing, type ReadValue } from '../core/studies/values/read-value.js';
import type { ValueReader as Reader, ValueRule } from '../core/studies/values/value-rules.js';
import { outputValues } from './output-values.js';
import { openValueReader, type ValueReader, type ValueReaderOptions } from './value-reader.js';

/** The compiled program, which the hub starts. */
const COMPILED = new URL('../dist/output-values/reader-main.js', import.meta.url);
/** A program that does as the name of a rule says, or has the id of its process as the value. */
const TELLING = new URL('./fixtures/telling-reader.mjs', import.meta.url);
const STOPS = { code: 'STORE_UNAVAILABLE', message: 'the hub stops' };
const LATE = missing('reading took longer than 10 s');

let lines: { readonly level: string; readonly msg: string }[];
let runtime: ManualRuntime;
let opened: ValueReader[];

beforeEach(() => {
  lines = [];
  opened = [];
  runtime = manualRuntime();
});
afterEach(async () => {
  for (const reader of opened) await reader.close();
});

function open(options: Partial<ValueReaderOptions> = {}): ValueReader {
  const at = (level: string) => (facts: object, msg: string) => void lines.push({ ...facts, level, msg });
  const log = { warn: at('warn'), error: at('error') } as unknown as Logger;
  const reader = openValueReader({
    timers: runtime.timers,
    log,
    program: COMPILED,
    maxSmallBytes: 0,
    ...options,
  });
  opened.push(reader);
  return reader;
}

function ruleOf(reader: Reader, name = 'value'): ValueRule {
  return { name, unit: null, kind: 'NUMBER', source: { kind: 'FILE', path: 'result.txt' }, reader };
}

const json = (path: string, name?: string) => ruleOf({ kind: 'JSON_PATH', path }, name);
const pattern = (text: string) => ruleOf({ kind: 'REGULAR_EXPRESSION', pattern: text, take: 'LAST' });
const number = (value: number): ReadValue => ({ kind: 'NUMBER', value });
const readOne = async (reader: ValueReader, rule: ValueRule, text = '1') =>
  (await reader.readValues([rule], Buffer.from(text)))[0];

async function processOf(reader: ValueReader): Promise<number> {
  const value = await readOne(reader, json('$'));
  return value?.kind === 'NUMBER' ? value.value : Number.NaN;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a reader of values', () => {
  it('reads in a process as in the hub', async () => {
    const reader = open();
    const rules = [
      json('$.mass'),
      json('$.high'),
      json('$.none'),
      ruleOf({ kind: 'REGULAR_EXPRESSION', pattern: 'gr(ö)ße', take: 'LAST' }),
    ];
    const content = Buffer.from('\ufeff{"mass": "NaN", "high": "-Inf", "größe": 1}');
    const values = await reader.readValues(rules, content);
    expect(values.slice(0, 2)).toEqual([number(Number.NaN), number(Number.NEGATIVE_INFINITY)]);
    expect(values).toEqual(await outputValues.readValues(rules, content));
    expect(lines).toEqual([]);
  });

  it('checks paths and patterns as they are checked without a process', () => {
    const reader = open();
    expect(reader.jsonPathFault('a')).toBe('must begin with "$"');
    expect(reader.patternFault('a*')).toBe('must not match an empty text');
  });

  it('reads contents that arrive together one after the other, empty and large ones, too', async () => {
    const reader = open();
    const texts = ['1', '', ` ${' '.repeat(3_000_000)}2`, '3'];
    expect(await Promise.all(texts.map((text) => readOne(reader, json('$'), text)))).toEqual([
      number(1),
      missing('result.txt is empty'),
      number(2),
      number(3),
    ]);
    expect(await reader.readValues([], Buffer.from('x'))).toEqual([]);
  });

  it('takes a part of a larger buffer for the whole content', async () => {
    const part = Buffer.from('[12345]').subarray(2, 4);
    expect(await open().readValues([json('$')], part)).toEqual([number(23)]);
    expect(await outputValues.readValues([json('$')], part)).toEqual([number(23)]);
  });

  it('gives up what takes longer than its time, and goes on with the next', async () => {
    const reader = open();
    // Some 10 seconds of work.
    const slow = ruleOf({ kind: 'REGULAR_EXPRESSION', pattern: '[ab].{900}[yz]', take: 'LAST' });
    const given = reader.readValues([slow, json('$')], Buffer.from('ab'.repeat(250_000)));
    const next = readOne(reader, json('$'), '2');
    await runtime.advance(10_000);
    expect(await given).toEqual([LATE, LATE]);
    expect(await next).toEqual(number(2));
    expect(lines).toMatchObject([
      { msg: 'values are missing: reading took longer than 10 s', source: 'result.txt', sizeBytes: 500_000 },
    ]);
  });

  it('ends the process that took too long, and counts the time of each content', async () => {
    const reader = open({ program: TELLING });
    const first = await processOf(reader);
    const given = readOne(reader, json('$', 'wait'));
    await runtime.advance(9999);
    const next = processOf(reader);
    await runtime.advance(1);
    expect(await given).toEqual(LATE);
    const second = await next;
    expect(second).not.toBe(first);
    expect(isAlive(first)).toBe(false);
    await runtime.advance(9999);
    expect(await processOf(reader)).toBe(second);
  });

  it('makes values missing that take too much memory, also in one piece, and goes on with the next', async () => {
    const reader = open({ memoryMiB: 32 });
    const lists = reader.readValues([json('$')], Buffer.from(`[${'[],'.repeat(1_000_000)}[]]`));
    const columns = ruleOf({ kind: 'CSV', column: 0, take: 'COUNT', delimiter: ',', decimal: '.' });
    const row = readOne(reader, columns, ','.repeat(8_000_000));
    const next = readOne(reader, json('$'), '2');
    expect(await lists).toEqual([missing('reading took too much memory')]);
    expect(await row).toEqual(missing('reading took too much memory'));
    expect(await next).toEqual(number(2));
  });

  it('logs the faults of its program', async () => {
    const reader = open({ program: TELLING });
    const fault = missing('reading failed; the log of the hub says why');
    expect(await readOne(reader, json('$', 'fail'))).toEqual(fault);
    expect(await readOne(reader, json('$', 'exit'))).toEqual(fault);
    expect(await processOf(reader)).toBeGreaterThan(0);
    expect(lines.filter(({ level }) => level === 'error')).toMatchObject([
      { msg: 'the reader of values has failed', stack: 'Error: a fault' },
      { msg: 'the reader of values has ended', exitCode: 3 },
    ]);
  });

  it('ends its process after a minute without work, or one that was ended by others, and starts another', async () => {
    const reader = open({ program: TELLING });
    const first = await processOf(reader);
    await runtime.advance(59_999);
    expect(await processOf(reader)).toBe(first);
    await runtime.advance(60_000);
    const second = await processOf(reader);
    expect(second).not.toBe(first);
    process.kill(second, 'SIGKILL');
    await expect.poll(() => isAlive(second)).toBe(false);
    expect(await processOf(reader)).not.toBe(second);
    expect(lines).toEqual([]);
  });

  it('ends its process when it is closed, and rejects what waits instead of making values missing', async () => {
    const reader = open({ program: TELLING });
    const pid = await processOf(reader);
    const waiting = [readOne(reader, json('$', 'wait')), readOne(reader, json('$'))];
    const outcomes = Promise.allSettled(waiting);
    await runtime.advance(0);
    await reader.close();
    expect(isAlive(pid)).toBe(false);
    expect(await outcomes).toMatchObject([
      { status: 'rejected', reason: STOPS },
      { status: 'rejected', reason: STOPS },
    ]);
    await expect(readOne(reader, json('$'))).rejects.toMatchObject(STOPS);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('rejects when its process is ended by others, and reads then', async () => {
    const reader = open({ program: TELLING });
    await expect(readOne(reader, json('$', 'be ended'))).rejects.toThrow(
      'the process that reads values was ended by SIGTERM',
    );
    expect(await processOf(reader)).toBeGreaterThan(0);
  });

  it('starts no process for small contents', async () => {
    const reader = open({ program: TELLING, maxSmallBytes: 100 });
    const values = await reader.readValues(
      [json('$.none'), pattern('(?:\\d)$')],
      Buffer.from(`${' '.repeat(99)}7`),
    );
    expect(values).toEqual([missing('"$.none" is not in result.txt'), number(7)]);
    expect(await processOf(reader)).toBe(1);
    expect(runtime.pendingTimers).toBe(0);
    await reader.close();
    await expect(readOne(reader, json('$'))).rejects.toMatchObject(STOPS);
  });

  it.each([
    ['large contents', json('$.mass'), 10_001],
    ['patterns of many steps', pattern('x{400}'), 10_000],
    ['patterns of classes that are computed', pattern('\\p{L}1'), 10],
    ['patterns with flags', pattern('(?i)[a-z]+'), 10],
    ['paths that search', json('$..mass'), 10],
    ['paths with filters', json('$[?@ == 1]'), 10],
    ['many rules', json('$.mass'), 10, 40],
  ])('leaves %s to its process', async (_, rule, length, count = 1) => {
    const reader = open({ program: TELLING, maxSmallBytes: 10_000 });
    const [value] = await reader.readValues(Array(count).fill(rule), Buffer.from('1'.repeat(length)));
    expect(value).toEqual(number(expect.any(Number) as number));
  });

  it('starts no process without rules', async () => {
    const reader = open({ program: new URL('./fixtures/none.mjs', import.meta.url) });
    expect(await reader.readValues([], Buffer.from('1'))).toEqual([]);
    expect(runtime.pendingTimers).toBe(0);
    expect(await readOne(reader, json('$'))).toMatchObject({ kind: 'MISSING' });
  });
});
