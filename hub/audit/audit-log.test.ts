import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEntry } from '../core/ports/audit.js';
import { MAX_LINE_BYTES } from './audit-line.js';
import { type AuditLog, appendToAudit, openAuditLog } from './audit-log.js';
import { BEGIN_MS, entry, newFolder } from './fixtures/entries.js';
import { auditReader } from './fixtures/lone-hub.js';
import { rateLimitedAudit } from './rate-limited-audit.js';

const MAX_FILE_BYTES = 16 * 1024;
const KEEP_FILES = 3;

let folder: ReturnType<typeof newFolder>;
let runtime: ManualRuntime;
let warnings: { path?: string; msg: string }[];
let audit: AuditLog;
beforeEach(async () => {
  folder = newFolder();
  runtime = manualRuntime(BEGIN_MS);
  warnings = [];
  await open();
});
afterEach(async () => {
  await audit.close();
  folder.remove();
});

async function open(maxFileBytes = MAX_FILE_BYTES): Promise<void> {
  const warn = (fields: object, msg: string) => warnings.push({ ...fields, msg });
  const log = { warn, error: warn } as unknown as Logger;
  audit = await openAuditLog({ folder: folder.path, maxFileBytes, keepFiles: KEEP_FILES, runtime, log });
}

/** All that was recorded, newest first. */
async function read(): Promise<readonly AuditEntry[]> {
  await audit.close();
  return (await auditReader(folder.path).read({ limit: 100_000 }, { aborted: false })).entries;
}

const listFiles = (series: string) => readdirSync(folder.path).filter((name) => name.startsWith(series));
const bytesOf = (name: string) => statSync(join(folder.path, name)).size;

const ofAnna = entry(1, { user: 'anna' });
const ofUlla = entry(2, { user: 'ulla' });

describe('the audit log', () => {
  it('keeps each file below its maximum size and all files below the volume, even when very many entries come at once', async () => {
    for (let n = 0; n < 4000; n++) {
      audit.record(entry(n, { user: `user ${n}` }));
      audit.record(entry(n, { user: `boss ${n}` }), true);
      audit.record(entry(n, { outcome: 'REFUSED' }));
      audit.record(entry(n, { user: 'ulla' }));
    }
    await audit.close();
    const sizes = readdirSync(folder.path).map(bytesOf);
    expect(sizes.length).toBeGreaterThan(12);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_FILE_BYTES);
    const volume = sizes.reduce((sum, size) => sum + size, 0);
    expect(volume).toBeLessThanOrEqual(MAX_FILE_BYTES * (KEEP_FILES + 1));
    expect(volume).toBeGreaterThan(MAX_FILE_BYTES * 2);
  });

  it('truncates long entries, and marks what is missing', async () => {
    const much = '\u0000😀"'.repeat(5000);
    audit.record(entry(1, { user: much, address: much, resource: much, detail: much }));
    audit.record(entry(2, { user: much, by: null, resource: 'short', detail: null }));
    await audit.close();
    const lines = readFileSync(join(folder.path, 'audit.log'), 'utf8').trimEnd().split('\n');
    for (const line of lines) {
      expect(Buffer.byteLength(line)).toBeLessThan(MAX_LINE_BYTES);
      expect(JSON.parse(line).user).toMatch(/^(?:\0😀")+.{0,3}…$/su);
    }
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ resource: 'short', detail: null });
  });

  it('keeps entries of others when one caller is refused or fails endlessly', async () => {
    audit.record(ofAnna, true);
    audit.record(ofUlla);
    for (const outcome of ['REFUSED', 'FAILED'] as const) {
      for (let n = 3; n < 2000; n++) audit.record(entry(n, { user: 'vera', outcome }));
    }
    expect((await read()).slice(-2)).toEqual([ofUlla, ofAnna]);
    expect(listFiles('refusals')).toHaveLength(KEEP_FILES + 1);
  });

  it('keeps entries of others when one caller makes changes endlessly, and of that caller those that fit', async () => {
    audit.record(ofAnna, true);
    audit.record(entry(2, { user: 'udo' }));
    await audit.close();
    // The series of all gets room for some 2000 entries, of which a caller may take 1000 an hour.
    await open(512 * 1024);
    for (let n = 3; n < 20_000; n++) audit.record(ofUlla);
    const kept = await read();
    expect(kept).toContainEqual(entry(2, { user: 'udo' }));
    expect(kept).toContainEqual(ofAnna);
    expect(kept.length).toBeGreaterThan(1000);
    expect(listFiles('bulk').length).toBeGreaterThan(1);
  });

  it('starts a new count for each caller every hour, and counts agents with the shared token as one', async () => {
    for (let n = 0; n < 1100; n++) audit.record(entry(n, { user: `agent ${n}`, by: 'AGENT_TOKEN' }));
    await audit.close();
    expect(bytesOf('bulk.log')).toBeGreaterThan(0);
    await open();
    for (let n = 0; n < 1000; n++) audit.record(ofUlla);
    await runtime.advance(3_600_000);
    const before = bytesOf('bulk.log');
    audit.record(ofUlla);
    await audit.close();
    expect(bytesOf('bulk.log')).toBe(before);
  });

  it('does not let a user displace entries of administrators', async () => {
    audit.record(ofAnna, true);
    for (let n = 0; n < 5000; n++) audit.record(entry(n, { user: `user ${n}` }));
    for (let n = 0; n < 5000; n++) audit.record(entry(n, { user: `user ${n}`, outcome: 'REFUSED' }));
    expect(await read()).toContainEqual(ofAnna);
  });

  it('does not count what an upstream does among the entries of a user of its name', async () => {
    audit.record(ofAnna, true);
    for (let n = 0; n < 5000; n++) audit.record(entry(n, { user: 'anna', by: 'UPSTREAM', action: 'LOAN' }));
    audit.record(ofAnna, true);
    const kept = await read();
    expect(kept.filter(({ by }) => by !== 'UPSTREAM')).toEqual([ofAnna, ofAnna]);
  });

  it('warns the operator when entries less than a week old are removed', async () => {
    for (let n = 0; n < 500; n++) audit.record(entry(n, { outcome: 'REFUSED' }));
    await audit.close();
    expect(warnings[0]).toMatchObject({
      path: join(folder.path, 'refusals-000001.log'),
      msg: expect.stringMatching(/^entries of the audit log less than a week old were removed/),
    });
  });

  it('rotates a file that commands have filled', async () => {
    audit.record(ofAnna, true);
    await expect.poll(() => bytesOf('administration.log')).toBeGreaterThan(0);
    for (let n = 2; n < 40; n++) await appendToAudit(folder.path, entry(n, { by: 'COMMAND_LINE' }));
    expect(listFiles('administration')).toEqual(['administration.log']);
    audit.record(entry(40), true);
    expect((await read()).map(({ atMs }) => atMs)).toEqual(
      Array.from({ length: 40 }, (_, at) => entry(40 - at).atMs),
    );
    expect(listFiles('administration')).toEqual(['administration-000001.log', 'administration.log']);
    expect(bytesOf('administration-000001.log')).toBeLessThan(MAX_FILE_BYTES);
  });
});

it('20,000 refusals of a VIEWER make few entries, and all are counted', async () => {
  await audit.close();
  await open(1024 ** 2);
  const trail = rateLimitedAudit(audit, runtime);
  audit.record(ofAnna, true);
  for (let n = 3; n < 20_003; n++) {
    trail.record(entry(n, { user: 'vera', outcome: 'REFUSED', action: `DELETE /path/${n % 40}` }));
  }
  trail.flush();
  const kept = await read();
  expect(kept).toContainEqual(ofAnna);
  expect(kept.length).toBeLessThan(110);
  const counted = kept.flatMap(({ action, detail }) =>
    action === 'MORE_REFUSALS' ? [Number.parseInt(detail ?? '', 10)] : [],
  );
  expect(counted.reduce((sum, more) => sum + more, 0) + kept.length - counted.length - 1).toBe(20_000);
});
