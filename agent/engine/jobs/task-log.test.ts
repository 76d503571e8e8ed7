import type { HubConnection } from '@workbench-hub/shared/joining/ports/hub';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, describe, expect, test } from 'vitest';
import type { BlobWriter } from '../../core/ports/spool.js';
import { TaskLog } from './task-log.js';

const REF = { taskId: 'task', attempt: 1, instanceId: 'sim' };

let runtime: ManualRuntime;
let written: Buffer[];
let live: { offset: number; text: string }[];
let connected: boolean;
let congested: boolean;
let writerFault: Error | null;
/** Number of times that room can be made on the disk, after which writes succeed. */
let reserves: number;
let hold: Promise<void>;
/** Number of pieces written before the log was abandoned. */
let abandonedAfter: number[];

beforeEach(() => {
  runtime = manualRuntime();
  written = [];
  live = [];
  connected = true;
  congested = false;
  writerFault = null;
  reserves = 0;
  hold = Promise.resolve();
  abandonedAfter = [];
});

function taskLog(limitBytes = 1_000_000) {
  const writer: BlobWriter = {
    async write(bytes) {
      await hold;
      if (writerFault) throw writerFault;
      written.push(Buffer.from(bytes));
    },
    finish: () => Promise.resolve({ digest: 'digest', sizeBytes: Buffer.concat(written).length }),
    abandon: async () => void abandonedAfter.push(written.length),
  };
  const connection = {
    isCongested: () => congested,
    sendOutput: (_ref: unknown, offset: number, text: string) => void live.push({ offset, text }),
  } as unknown as HubConnection;
  return new TaskLog(REF, {
    runtime,
    limitBytes,
    openWriter: () => {
      written = [];
      return Promise.resolve(writer);
    },
    makeRoom: async () => {
      if (reserves === 0) return false;
      reserves--;
      writerFault = null;
      return true;
    },
    connection: () => (connected ? connection : null),
  });
}

const FULL = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });

const text = () => Buffer.concat(written).toString();

describe("a task's log", () => {
  test('is nothing when nothing was printed', async () => {
    expect(await taskLog().finish()).toBeNull();
    expect(runtime.pendingTimers).toBe(0);
  });

  test('is what was printed', async () => {
    const log = taskLog();
    await log.append('größe\n');
    await log.append('end');
    expect(await log.finish()).toEqual({ digest: 'digest', sizeBytes: 11 });
    expect(text()).toBe('größe\nend');
    expect(runtime.pendingTimers).toBe(0);
  });

  test('has its beginning, its end, and a line about what is between, when it is long', async () => {
    const log = taskLog(1000);
    for (let line = 0; line < 100_000; line++) await log.append(`line ${line} ü\n`);
    await log.finish();
    expect(text().startsWith('line 0 ü\nline 1 ü\n')).toBe(true);
    expect(text().endsWith('line 99998 ü\nline 99999 ü\n')).toBe(true);
    const [, leftOut] = /\n\[agent\] (\d+) bytes are left out here: limits.taskLog\n/.exec(text()) ?? [];
    let printed = 0;
    for (let line = 0; line < 100_000; line++) printed += Buffer.byteLength(`line ${line} ü\n`);
    const marker = Buffer.byteLength(`\n[agent] ${leftOut} bytes are left out here: limits.taskLog\n`);
    expect(Buffer.concat(written).length - marker + Number(leftOut)).toBe(printed);
    expect(text()).not.toContain('\ufffd');
  });

  test('keeps whole lines of its end, as much as an eighth of its limit, and at least 64 KiB', async () => {
    const line = `${'x'.repeat(99)}\n`;
    const endOf = async (limitBytes: number) => {
      const log = taskLog(limitBytes);
      for (let at = 0; at < 40_000; at++) void log.append(line);
      await log.finish();
      return text().length - text().indexOf('limits.taskLog\n') - 'limits.taskLog\n'.length;
    };
    expect(await endOf(1000)).toBe(65_500);
    expect(await endOf(2_000_000)).toBe(249_900);
  });

  test('a little over its limit is whole', async () => {
    const log = taskLog(10);
    await log.append('12345678');
    await log.append('90abcdef');
    await log.finish();
    expect(text()).toBe('1234567890abcdef');
  });

  test('holds back a script that prints faster than the disk writes', async () => {
    let release = () => {};
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const log = taskLog();
    expect(log.append('a little')).toBeUndefined();
    let free = false;
    const held = log.append('x'.repeat(300_000))?.then(() => (free = true));
    expect(held).toBeDefined();
    await runtime.advance(0);
    expect(free).toBe(false);
    release();
    await held;
    expect(log.append('a little')).toBeUndefined();
    await log.finish();
  });

  test('is abandoned only when the write under way is over', async () => {
    let release!: () => void;
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const log = taskLog();
    void log.append('under way');
    await runtime.advance(0);
    const abandoning = log.abandon();
    await runtime.advance(0);
    expect(abandonedAfter).toEqual([]);
    release();
    await abandoning;
    expect(abandonedAfter).toEqual([1]);
    expect(runtime.pendingTimers).toBe(0);
  });

  test('that cannot be written stops no script, and reports the error at the end', async () => {
    writerFault = new Error('no space left on device');
    const log = taskLog();
    for (let i = 0; i < 10; i++) await log.append('x'.repeat(300_000));
    await expect(log.finish()).rejects.toThrow('no space left');
  });

  test('that could not be written is kept at the end, if there is room by then', async () => {
    writerFault = FULL;
    const log = taskLog();
    await log.append('what the script said last');
    await runtime.advance(0);
    expect(log.fault).toBe(FULL);
    writerFault = null;
    await log.finish();
    expect(text()).toBe('what the script said last');
  });

  test('that lost too much on a full disk has its end, in space that was held free for it', async () => {
    const log = taskLog();
    await log.append('kept at first');
    writerFault = FULL;
    reserves = 1;
    await log.append(`${'x'.repeat(100_000)} the end`);
    await log.finish();
    expect(text()).toMatch(
      /^\[agent\] the beginning of the log could not be kept: no space left on device\nx{65528} the end$/,
    );
    expect(reserves).toBe(0);
  });
});

describe('live pieces', () => {
  test('are gathered, by time and by length', async () => {
    const log = taskLog();
    for (const piece of ['a', 'b', 'c']) await log.append(piece);
    expect(live).toEqual([]);
    await runtime.advance(100);
    expect(live).toEqual([{ offset: 0, text: 'abc' }]);
    await log.append('d'.repeat(20_000));
    expect(live.at(-1)).toEqual({ offset: 3, text: 'd'.repeat(20_000) });
  });

  test('are not sent while the hub is away or the link is full, and then only the last part', async () => {
    const log = taskLog();
    congested = true;
    await log.append('a'.repeat(100_000));
    await runtime.advance(1000);
    expect(live).toEqual([]);
    congested = false;
    await runtime.advance(100);
    expect(live.map(({ offset, text: { length } }) => [offset, length])).toEqual([
      [100_000 - 65_536, 65_536],
    ]);
    connected = false;
    await log.append('b');
    await runtime.advance(1000);
    connected = true;
    log.resend();
    expect(live.at(-1)?.text.endsWith('ab')).toBe(true);
    expect(live.at(-1)?.offset).toBe(100_001 - 65_536);
    await log.finish();
  });
});
