import { appendFileSync, mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEntry, AuditQuery } from '../core/ports/audit.js';
import { lineOf } from './audit-line.js';
import { BEGIN_MS, entry, newFolder } from './fixtures/entries.js';
import { auditReader } from './fixtures/lone-hub.js';

const HERE = { aborted: false };

let folder: ReturnType<typeof newFolder>;
beforeEach(() => {
  folder = newFolder();
  mkdirSync(folder.path);
});
afterEach(() => folder.remove());

const write = (name: string, entries: readonly AuditEntry[]) =>
  writeFileSync(join(folder.path, name), entries.map(lineOf).join(''));
const read = (query: Partial<AuditQuery> = {}) =>
  auditReader(folder.path).read({ limit: 100, ...query }, HERE);
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

async function allPages(query: Partial<AuditQuery>): Promise<AuditEntry[]> {
  const all: AuditEntry[] = [];
  for (let before: string | null | undefined; before !== null; ) {
    const page = await read({ ...query, before });
    all.push(...page.entries);
    before = page.next;
  }
  return all;
}

describe('reading the audit log', () => {
  it('returns nothing when there are no entries', async () => {
    expect(await read()).toEqual({ entries: [], next: null });
    folder.remove();
    expect(await read()).toEqual({ entries: [], next: null });
  });

  it.each([1, 7, 1000])('continues over files and blocks, %i at a time', async (limit) => {
    // About 300 bytes each: every file is several pieces long, and lines lie across their borders.
    const wide = range(0, 900).map((n) => entry(n, { detail: 'ä€😀'.repeat(n % 50) }));
    write('audit-000008.log', wide.slice(0, 400));
    write('audit-000009.log', wide.slice(400, 800));
    write('audit-1.log', [entry(9999)]);
    write('audit.log', wide.slice(800));
    expect(await allPages({ limit })).toEqual([...wide].reverse());
  });

  it.each([1, 3, 1000])('merges the series by time, %i at a time', async (limit) => {
    const names = ['audit', 'administration', 'refusals', 'bulk'];
    const all = range(0, 2000).map((n) => entry(n, { user: `user ${n}` }));
    for (const [at, name] of names.entries()) {
      const own = all.filter((_, n) => (n * 7 + (n >> 3)) % 4 === at);
      write(`${name}-000003.log`, own.slice(0, 200));
      write(`${name}.log`, own.slice(200));
    }
    const recent = limit === 1 ? { fromMs: BEGIN_MS + 1_900_000 } : {};
    const expected = [...all].reverse().slice(0, limit === 1 ? 100 : 2000);
    expect(await allPages({ limit, ...recent })).toEqual(expected);
  });

  it('leaves out on later pages entries written since the first, in every series', async () => {
    write('audit.log', [entry(1), entry(3)]);
    const first = await read({ limit: 1 });
    write('refusals.log', [entry(5), entry(6)]);
    appendFileSync(join(folder.path, 'audit.log'), lineOf(entry(7)));
    expect(await read({ before: first.next ?? '' })).toEqual({ entries: [entry(1)], next: null });
  });

  it('keeps the order of a series in which the clock was set back', async () => {
    write('audit.log', [entry(10), entry(2), entry(3)]);
    write('refusals.log', [entry(1), entry(5), entry(11)]);
    expect(await allPages({ limit: 1 })).toEqual([11, 5, 3, 2, 10, 1].map((n) => entry(n)));
  });

  it('continues at its position when entries are added and files rotated between the pages', async () => {
    write('audit-000001.log', [entry(1), entry(2)]);
    write('audit.log', [entry(3), entry(4), entry(5)]);
    const first = await read({ limit: 2 });
    expect(first.entries).toEqual([entry(5), entry(4)]);
    appendFileSync(join(folder.path, 'audit.log'), lineOf(entry(6)));
    renameSync(join(folder.path, 'audit.log'), join(folder.path, 'audit-000002.log'));
    write('audit.log', [entry(7)]);
    const second = await read({ limit: 2, before: first.next ?? '' });
    expect(second.entries).toEqual([entry(3), entry(2)]);
    expect(await read({ limit: 2, before: second.next ?? '' })).toEqual({ entries: [entry(1)], next: null });
  });

  it('skips invalid lines: truncated, garbled, empty, or of a megabyte', async () => {
    const rubbish = [
      '{"at":"2026',
      '',
      'null',
      '{}',
      '[1]',
      '"at"',
      '{"at":7}',
      'x'.repeat(1024 ** 2),
      '\0\0\0',
    ];
    const lines = rubbish.flatMap((line, n) => [line, lineOf(entry(n)).trimEnd()]);
    writeFileSync(
      join(folder.path, 'audit.log'),
      `${lines.join('\n')}\n{"at":"2026-11-21T06:53:00.000Z","user":"a`,
    );
    expect((await read()).entries).toEqual(rubbish.map((_, n) => entry(n)).reverse());
  });

  it('can be filtered', async () => {
    const entries = range(0, 60).map((n) =>
      entry(n, {
        user: ['anna', 'ann', 'bert', null][n % 4] ?? null,
        outcome: n % 3 === 0 ? 'REFUSED' : 'ALLOWED',
        action: n % 5 === 0 ? 'AGENT_JOIN' : 'POST /api/2.0/auth/login',
        detail: '"anna" "REFUSED" AGENT_JOIN',
      }),
    );
    write('audit-000001.log', entries.slice(0, 30));
    write('audit.log', entries.slice(30));
    const expected = (keep: (entry: AuditEntry) => boolean) => entries.filter(keep).reverse();
    expect(await allPages({ user: 'ann', limit: 2 })).toEqual(expected(({ user }) => user === 'ann'));
    expect(await allPages({ outcome: 'REFUSED' })).toEqual(expected(({ outcome }) => outcome === 'REFUSED'));
    expect(await allPages({ action: 'AGENT_JOIN' })).toEqual(
      expected(({ action }) => action === 'AGENT_JOIN'),
    );
    expect(await allPages({ user: 'ann%' })).toEqual([]);
    const [fromMs, toMs] = [BEGIN_MS + 10_000, BEGIN_MS + 20_000];
    expect(await allPages({ fromMs, toMs })).toEqual(entries.slice(10, 20).reverse());
  });

  it('skips files that were last written before the requested time', async () => {
    write('audit-000001.log', [entry(100)]);
    utimesSync(join(folder.path, 'audit-000001.log'), BEGIN_MS / 1000, BEGIN_MS / 1000);
    expect((await read({ fromMs: BEGIN_MS + 2000 })).entries).toEqual([]);
    expect((await read({ fromMs: BEGIN_MS - 1000 })).entries).toEqual([entry(100)]);
  });

  it('ends when the client disconnects', async () => {
    write('audit.log', [entry(1)]);
    expect(await auditReader(folder.path).read({ limit: 1 }, { aborted: true })).toEqual({
      entries: [],
      next: null,
    });
  });

  it.each([
    '',
    '1',
    '1.',
    '-1.0',
    '1.2.3',
    '../audit',
    '1.99999999999999999999',
    '1.5-1.5-1.5',
    '1.5-1.5-1.5-1.5-1.5',
    '1.5-1.5-x-1.5-1.5',
  ])('refuses %j as a position', async (before) => {
    await expect(read({ before })).rejects.toThrow('before: must be the "next" of an earlier answer');
  });

  it('keeps only blocks of a large log in memory, and yields to other work', async () => {
    const line = lineOf(entry(1));
    const piece = Buffer.from(line.repeat(Math.ceil(1024 ** 2 / line.length)));
    for (let megabyte = 0; megabyte < 64; megabyte++) appendFileSync(join(folder.path, 'audit.log'), piece);
    let turns = 0;
    let isReading = true;
    const others = () => {
      turns++;
      if (isReading) setImmediate(others);
    };
    others();
    const before = process.memoryUsage().arrayBuffers;
    expect(await read({ user: 'nobody' })).toEqual({ entries: [], next: null });
    isReading = false;
    expect(turns).toBeGreaterThan(500);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(96 * 1024 ** 2);
  });
});
