import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openAuditFile } from './audit-file.js';
import { appendToAudit } from './audit-log.js';
import { entry, newFolder } from './fixtures/entries.js';
import { auditReader } from './fixtures/lone-hub.js';

const ALL = { limit: 1000 };
const HERE = { aborted: false };

let folder: ReturnType<typeof newFolder>;
let runtime: ManualRuntime;
let log: Logger;
let logged: { level: string; msg: string; lost?: number; waiting?: number }[];
beforeEach(() => {
  folder = newFolder();
  runtime = manualRuntime();
  logged = [];
  const taking = (level: string) => (fields: object, msg: string) => logged.push({ level, msg, ...fields });
  log = { warn: taking('warn'), error: taking('error') } as unknown as Logger;
});
afterEach(() => folder.remove());

const openFile = (rest: { maxFileBytes?: number; keepFiles?: number } = {}) =>
  openAuditFile({
    folder: folder.path,
    series: 'audit',
    maxFileBytes: 1024 ** 2,
    keepFiles: 3,
    runtime,
    log,
    ...rest,
  });
const current = () => join(folder.path, 'audit.log');
/** Nothing can be written where the folder was. */
const putFileInTheWay = () => {
  rmSync(folder.path, { recursive: true });
  writeFileSync(folder.path, '');
};
const read = async () => (await auditReader(folder.path).read(ALL, HERE)).entries;

describe('the audit file', () => {
  it('has entries as lines of JSON, readable by this user only', async () => {
    const file = await openFile();
    for (const n of [1, 2]) file.record(entry(n));
    await file.close();
    const lines = readFileSync(current(), 'utf8').split('\n');
    expect(lines.pop()).toBe('');
    const { atMs: _, ...rest } = entry(1);
    expect(JSON.parse(lines[0] ?? '')).toEqual({ at: '2026-11-21T06:53:01.000Z', ...rest });
    expect(lines).toHaveLength(2);
    expect(statSync(current()).mode & 0o777).toBe(0o600);
    expect(statSync(folder.path).mode & 0o777).toBe(0o700);
    expect(logged).toEqual([]);
  });

  it('has each entry on one line, whatever it contains, and truncates long ones', async () => {
    const file = await openFile();
    const resource = '/a\n{"at":"2026-11-21T06:53:00Z"}\r\u2028\u0000"';
    file.record(entry(1, { resource, detail: 'x'.repeat(100_000) }));
    await file.close();
    expect(readFileSync(current(), 'utf8').split('\n')).toHaveLength(2);
    expect(await read()).toEqual([entry(1, { resource, detail: `${'x'.repeat(512)}…` })]);
  });

  it('is appended to, on a new line when a crash truncated the last one', async () => {
    mkdirSync(folder.path);
    appendFileSync(current(), '{"at":"2026-11-21T06:52:00.000Z","user":"an');
    const file = await openFile();
    file.record(entry(1));
    await runtime.advance(0);
    // Another process dies in the middle of its line while the hub runs.
    await expect.poll(read).toEqual([entry(1)]);
    appendFileSync(current(), '{"at":"2026');
    file.record(entry(2));
    await file.close();
    await appendToAudit(folder.path, entry(3));
    expect(await read()).toEqual([entry(3), entry(2), entry(1)]);
  });

  it('is replaced by a new one when it is full, and the configured number is kept', async () => {
    const file = await openFile({ maxFileBytes: 1000, keepFiles: 3 });
    for (let n = 1; n <= 40; n++) {
      file.record(entry(n));
      await runtime.advance(0);
      await expect.poll(async () => (await read())[0]).toEqual(entry(n));
    }
    await file.close();
    const names = readdirSync(folder.path).sort();
    expect(names).toHaveLength(4);
    expect(names.at(-1)).toBe('audit.log');
    for (const name of names) {
      expect(statSync(join(folder.path, name)).size).toBeLessThanOrEqual(1000);
      expect(statSync(join(folder.path, name)).mode & 0o777).toBe(0o600);
    }
    const kept = await read();
    expect(kept).toEqual(kept.map((_, i) => entry(40 - i)));
  });

  it('gets delayed entries as soon as it can be written again', async () => {
    const file = await openFile();
    putFileInTheWay();
    for (const n of [1, 2]) file.record(entry(n));
    await runtime.advance(0);
    await expect.poll(() => logged).toMatchObject([{ level: 'error', waiting: 2, lost: 0 }]);
    expect(logged[0]?.msg).toMatch(/^the audit log cannot be written: requests continue/);
    file.record(entry(3));
    await runtime.advance(1000);
    await expect.poll(() => logged).toMatchObject([{ waiting: 2 }, { waiting: 3 }]);
    rmSync(folder.path);
    await runtime.advance(1000);
    await expect.poll(read).toEqual([entry(3), entry(2), entry(1)]);
    await file.close();
    expect(logged.at(-1)?.msg).toBe('the audit log can be written again');
  });

  it('states how many entries were lost for lack of memory or at the stop', async () => {
    const file = await openFile();
    putFileInTheWay();
    const long = { resource: 'r'.repeat(1000), detail: 'd'.repeat(1000) };
    for (let n = 1; n <= 10_000; n++) file.record(entry(n, long));
    await runtime.advance(0);
    await expect.poll(() => logged[0]?.lost).toBeGreaterThan(1000);
    rmSync(folder.path);
    await runtime.advance(1000);
    const ofLoss = async () =>
      (await auditReader(folder.path).read({ limit: 1, action: 'ENTRIES_LOST' }, HERE)).entries;
    const detail = `${logged[0]?.lost} entries before this one could not be written`;
    await expect.poll(ofLoss).toMatchObject([{ detail }]);

    putFileInTheWay();
    file.record(entry(1));
    await file.close();
    expect(logged.at(-1)).toMatchObject({
      level: 'error',
      lost: 1,
      msg: 'entries of the audit log are lost',
    });
  });

  it('is created with the first entry', async () => {
    expect(existsSync(folder.path)).toBe(false);
    expect(await read()).toEqual([]);
    await appendToAudit(folder.path, entry(1, { by: 'COMMAND_LINE', address: null }));
    expect(await read()).toEqual([entry(1, { by: 'COMMAND_LINE', address: null })]);
    expect(statSync(join(folder.path, 'administration.log')).mode & 0o777).toBe(0o600);
  });
});
