import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEntry, AuditQuery, AuditReader } from '../core/ports/audit.js';
import type { HubView } from '../core/ports/hubs.js';
import { AgentUnavailable, type AuditRequest, type HubRequest } from '../core/ports/relay.js';
import { lineOf } from './audit-line.js';
import { auditSource } from './audit-reader.js';
import { auditReceiver, clusterAudit } from './cluster-audit.js';
import { entry, newFolder } from './fixtures/entries.js';

const HUBS = ['hub-a', 'hub-b', 'hub-c'] as const;
type HubId = (typeof HUBS)[number];
const HERE = { aborted: false };
const runtime = manualRuntime();

let folder: ReturnType<typeof newFolder>;
/** Hubs that do not run, and those that run and do not respond. */
let gone: Set<string>;
let silent: Set<string>;
beforeEach(() => {
  folder = newFolder();
  for (const hub of HUBS) mkdirSync(join(folder.path, hub), { recursive: true });
  [gone, silent] = [new Set(), new Set()];
});
afterEach(() => folder.remove());

const write = (hub: HubId, entries: readonly AuditEntry[]) =>
  writeFileSync(join(folder.path, hub, 'audit.log'), entries.map(lineOf).join(''));
const sourceOf = (hub: string) => auditSource(join(folder.path, hub));

/** The log as this hub reads it. */
function logAt(ownId: HubId): AuditReader {
  return clusterAudit({
    own: sourceOf(ownId),
    hubs: {
      ownId,
      others: () => HUBS.length - 1 - gone.size,
      all: async () => HUBS.map((id) => ({ id, isLive: !gone.has(id) }) as HubView),
    },
    relay: {
      askHub: async (hub: string, request: HubRequest) => {
        if (silent.has(hub)) throw new AgentUnavailable(`hub ${hub} did not answer in 10 s`);
        const receiver = auditReceiver(sourceOf(hub), {
          clock: runtime.clock,
          log: { error: () => undefined },
        });
        return receiver(JSON.parse(JSON.stringify(request)) as AuditRequest, 1000);
      },
    },
  });
}

const read = (ownId: HubId, query: Partial<AuditQuery> = {}) =>
  logAt(ownId).read({ limit: 100, ...query }, HERE);

/** All pages, each asked of another hub than the one before. */
async function allPages(limit: number): Promise<AuditEntry[]> {
  const all: AuditEntry[] = [];
  let before: string | undefined;
  for (let page = 0; ; page++) {
    const { entries, next } = await read(HUBS[page % HUBS.length] as HubId, { limit, before });
    all.push(...entries);
    if (next === null) return all;
    before = next;
  }
}

const numbers = (entries: readonly AuditEntry[]) =>
  entries.map(({ resource }) => Number(resource.split('/').at(-2)));
const newestFirst = (count: number) => Array.from({ length: count }, (_, at) => count - 1 - at);

describe('the audit log of several hubs', () => {
  it.each([1, 7, 1000])(
    'has the entries of all, newest first, %i at a time, asked at any hub',
    async (limit) => {
      const all = Array.from({ length: 60 }, (_, n) => entry(n));
      for (const [at, hub] of HUBS.entries())
        write(
          hub,
          all.filter((_, n) => (n * n + (n >> 2)) % 3 === at),
        );
      expect(numbers(await allPages(limit))).toEqual(newestFirst(60));
    },
  );

  it.each([1, 3])('is whole when one hub has the oldest entries, %i at a time', async (limit) => {
    write(
      'hub-a',
      Array.from({ length: 10 }, (_, n) => entry(n)),
    );
    write('hub-b', [entry(10)]);
    write('hub-c', [entry(11)]);
    expect(numbers(await allPages(limit))).toEqual(newestFirst(12));
  });

  it('goes on with a hub that did not run for one page', async () => {
    write('hub-a', [entry(0), entry(2), entry(4)]);
    write('hub-b', [entry(1), entry(3), entry(5)]);
    const first = await read('hub-a', { limit: 2 });
    gone.add('hub-b');
    const second = await read('hub-a', { limit: 1, before: first.next ?? '' });
    gone.clear();
    const third = await read('hub-a', { before: second.next ?? '' });
    expect([first, second, third].map(({ entries }) => numbers(entries))).toEqual([[5, 4], [2], [3, 1, 0]]);
  });

  it('takes a place of an earlier version for that of the hub that is asked', async () => {
    write('hub-a', [entry(0), entry(1)]);
    const { next } = await read('hub-a', { limit: 1 });
    const { entries } = await read('hub-a', { before: (next ?? '').split('~')[1]?.split('_')[0] ?? '' });
    expect(numbers(entries)).toEqual([0]);
  });

  it('says that a hub cannot read its files', async () => {
    const failing = { read: () => Promise.reject(new Error('EIO')) };
    const receiver = auditReceiver(failing, { clock: runtime.clock, log: { error: () => undefined } });
    const request = { kind: 'audit', query: { limit: 1 } } as const;
    await expect(receiver(request, 1000)).rejects.toThrow('it cannot read its files');
  });

  it('is filtered at each hub', async () => {
    write('hub-a', [entry(0), entry(2, { user: 'vera' })]);
    write('hub-b', [entry(1, { user: 'vera' }), entry(3)]);
    const { entries, next } = await read('hub-c', { user: 'vera' });
    expect([numbers(entries), next]).toEqual([[2, 1], null]);
  });

  it('leaves out on later pages entries written since the first, also of hubs that had none', async () => {
    write('hub-a', [entry(1), entry(2)]);
    const first = await read('hub-a', { limit: 1 });
    write('hub-a', [entry(1), entry(2), entry(3)]);
    write('hub-b', [entry(4)]);
    const { entries, next } = await read('hub-b', { before: first.next ?? '' });
    expect([numbers(entries), next]).toEqual([[1], null]);
  });

  it('lacks those of hubs that do not run, and goes on when one ends between two pages', async () => {
    write('hub-a', [entry(0), entry(3)]);
    write('hub-b', [entry(1), entry(4)]);
    write('hub-c', [entry(2), entry(5)]);
    gone.add('hub-c');
    const first = await read('hub-a', { limit: 1 });
    expect(numbers(first.entries)).toEqual([4]);
    gone.add('hub-b');
    const second = await read('hub-a', { limit: 10, before: first.next ?? '' });
    expect([numbers(second.entries), second.next]).toEqual([[3, 0], null]);
  });

  it('is refused as a whole while a hub that runs does not respond', async () => {
    write('hub-a', [entry(0)]);
    silent.add('hub-b');
    await expect(read('hub-a')).rejects.toMatchObject({
      code: 'HUB_UNAVAILABLE',
      message: 'the audit log of hub hub-b cannot be read: hub hub-b did not answer in 10 s',
    });
  });

  it.each(['x', 'hub-a~', 'hub-a~x', 'hub-b~1', 'hub-a~1.0-1.0-1.0-1.0_', '~1.0-1.0-1.0-1.0'])(
    'refuses the cursor %j',
    async (before) => {
      await expect(read('hub-a', { before })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: 'before: must be the "next" of an earlier answer',
      });
    },
  );
});
