/** Two and three hubs on one database: the scheduler's role, hubs that go, and hubs with the same id. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RoleHolder } from '@workbench-hub/hub/core/ports/roles';
import { SWEEP } from '@workbench-hub/hub/store/postgres/cluster/common/hub-statements';
import { hubIdIn } from '@workbench-hub/hub/store/postgres/cluster/membership/hub-identity';
import { statement } from '@workbench-hub/hub/store/postgres/connection/pool';
import { rowsOf } from '@workbench-hub/hub/store/postgres/connection/statement';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import { hasPostgres } from '../support/stores/postgres.js';
import { type TestHub, TestHubs } from '../support/stores/postgres-cluster.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const [A, B, C] = ['aaaaaaaaaaaa', 'bbbbbbbbbbbb', 'cccccccccccc'];

let hubs: TestHubs;

describe.skipIf(!hasPostgres)('several hubs on PostgreSQL', () => {
  beforeEach(async () => {
    hubs = await TestHubs.open();
  });
  afterEach(() => hubs.end());

  describe("the scheduler's role", () => {
    /** Terms as they are gained and lost, such as `a 1` and `a lost`. */
    let told: string[];
    beforeEach(() => {
      told = [];
    });
    const holder = ({ id }: TestHub, rest: Partial<RoleHolder> = {}): RoleHolder => ({
      gained: async (term) => void told.push(`${id[0]} ${term}`),
      lost: async () => void told.push(`${id[0]} lost`),
      ...rest,
    });
    const contend = (hub: TestHub) => hub.roles.contend(holder(hub));

    it('is one hub’s at a time, and the next one’s within a second of its resignation', async () => {
      const [a, b] = [await hubs.start(A), await hubs.start(B, { timings: {} })];
      await contend(a);
      await contend(b);
      expect(told).toEqual(['a 1']);
      await a.roles.resign();
      const resignedAtMs = performance.now();
      await eventually(() => told.length === 3);
      expect(performance.now() - resignedAtMs).toBeLessThan(1000);
      expect(told).toEqual(['a 1', 'a lost', 'b 2']);
    });

    it('moves within six seconds from a hub that is cut off, which loses it before', async () => {
      const [a, b] = [await hubs.start(A, { timings: {} }), await hubs.start(B, { timings: {} })];
      await contend(a);
      await contend(b);
      a.proxy.accept(false);
      a.proxy.cut();
      const cutAtMs = performance.now();
      await eventually(() => told.length === 3);
      expect(performance.now() - cutAtMs).toBeLessThan(6000);
      expect(told).toEqual(['a 1', 'a lost', 'b 2']);
    });

    it('moves within six seconds from a hub whose server does not respond, which loses it before', async () => {
      const [a, b] = [await hubs.start(A, { timings: {} }), await hubs.start(B, { timings: {} })];
      await contend(a);
      await contend(b);
      a.proxy.isHanging = true;
      const hangsSinceMs = performance.now();
      await eventually(() => told.length === 3);
      expect(performance.now() - hangsSinceMs).toBeLessThan(6000);
      expect(told).toEqual(['a 1', 'a lost', 'b 2']);
      a.proxy.isHanging = false;
      a.proxy.cut();
      await eventually(() => a.hubs.all());
      expect(told).toHaveLength(3);
    });

    it('is not lost by breaks of its connections', async () => {
      // Long enough that it does not end meanwhile on a busy machine.
      const timings = { roleMs: 60_000, trustRoleMs: 50_000 };
      const [a, b] = [await hubs.start(A, { timings }), await hubs.start(B, { timings })];
      await contend(a);
      await contend(b);
      for (let cuts = 0; cuts < 5; cuts++) {
        a.proxy.cut();
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      expect(told).toEqual(['a 1']);
      expect(b.broken).toEqual([]);
    });

    it('is passed on by a hub that cannot begin, and never with a number that was used', async () => {
      const [a, b] = [await hubs.start(A), await hubs.start(B)];
      const gained = async () => {
        throw new Error('its memory is full');
      };
      await expect(a.roles.contend(holder(a, { gained }))).rejects.toThrow('its memory is full');
      await contend(b);
      expect(told).toEqual(['b 2']);
    });

    it('never has a number twice, whatever the order of starts and ends', async () => {
      for (let round = 0; round < 4; round++) {
        const [a, b] = [await hubs.start(A), await hubs.start(B)];
        await Promise.all([contend(a), contend(b)]);
        await a.close();
        await eventually(() => told.at(-1)?.startsWith('b ') === true && told.at(-1) !== 'b lost');
        await b.crash();
      }
      const terms = told.filter((each) => !each.endsWith('lost')).map((each) => Number(each.split(' ')[1]));
      expect(terms).toEqual([...new Set(terms)].sort((a, b) => a - b));
      expect(terms.length).toBeGreaterThanOrEqual(4);
    });

    it('ends at once what a former start of the same hub had', async () => {
      const first = await hubs.start(A);
      await contend(first);
      await first.crash();
      const second = await hubs.start(A);
      await contend(second);
      expect(told.at(-1)).toBe('a 2');
    });
  });

  describe('the rows of hubs', () => {
    const seen = async (hub: TestHub) =>
      (await hub.hubs.all()).map(({ id, isLive, isScheduler, term }) => [id, isLive, isScheduler, term]);

    it('show each with its address, version and role', async () => {
      const a = await hubs.start(A, { version: '1.2' });
      await a.hubs.listensAt('https://a.example.org');
      const b = await hubs.start(B);
      await a.roles.contend({ gained: async () => undefined, lost: async () => undefined });
      const beforeMs = Date.now();
      await eventually(async () => (await b.hubs.all()).every(({ clockOffsetMs }) => clockOffsetMs !== null));
      await eventually(() => b.hubs.otherAddresses().length === 1);
      expect(b.hubs.otherAddresses()).toEqual(['https://a.example.org']);
      const [first, second] = await b.hubs.all();
      expect(first).toMatchObject({
        ...{
          id: A,
          address: 'https://a.example.org',
          version: '1.2',
          isLive: true,
          isScheduler: true,
          term: 1,
        },
        ...{ agents: 0, runningTasks: 0, preparedAtMs: null },
      });
      expect(Math.abs(first?.clockOffsetMs ?? 9999)).toBeLessThan(1000);
      expect(Math.abs((first?.seenAtMs ?? 0) - beforeMs)).toBeLessThan(60_000);
      expect(second).toMatchObject({ id: B, isScheduler: false, term: null });
      expect(b.hubs.ownId).toBe(B);
    });

    it('count the others that live: those that have begun, until they end or lapse', async () => {
      const a = await hubs.start(A);
      expect(a.hubs.others()).toBe(0);
      const told: number[] = [];
      a.signals.hear({ HUBS: () => void told.push(a.hubs.others()) });
      const [b, c] = [await hubs.start(B), await hubs.start(C)];
      await eventually(() => a.hubs.others() === 2);
      expect(c.hubs.others()).toBe(2);
      await b.close();
      await eventually(() => a.hubs.others() === 1);
      expect(await seen(a)).toEqual([
        [A, true, false, null],
        [C, true, false, null],
      ]);
      await c.crash();
      await eventually(() => a.hubs.others() === 0);
      expect(await seen(a)).toEqual([
        [A, true, false, null],
        [C, false, false, null],
      ]);
      expect(told).toEqual([expect.any(Number), 0]);
    });

    it('are compared by the clock of the server, whatever those of the machines say', async () => {
      const hourMs = 3_600_000;
      const { clock } = systemRuntime;
      const late = { ...clock, nowMs: () => clock.nowMs() - hourMs };
      const [a, b] = [await hubs.start(A, { clock: late }), await hubs.start(B)];
      const told: string[] = [];
      const holder = {
        gained: async () => void told.push('gained'),
        lost: async () => void told.push('lost'),
      };
      await a.roles.contend(holder);
      await b.roles.contend(holder);
      await eventually(async () => (await b.hubs.all()).every(({ clockOffsetMs }) => clockOffsetMs !== null));
      const [ofA, ofB] = await b.hubs.all();
      expect(Math.abs((ofA?.clockOffsetMs ?? 0) + hourMs)).toBeLessThan(2000);
      expect(Math.abs((ofA?.seenAtMs ?? 0) - (ofB?.seenAtMs ?? 0))).toBeLessThan(5000);
      expect([ofA?.isLive, ofB?.isLive, told]).toEqual([true, true, ['gained']]);
    });

    it('are renewed while all connections of the pool are in use', async () => {
      const [a, b] = [await hubs.start(A), await hubs.start(B)];
      const told: string[] = [];
      const holder = {
        gained: async () => void told.push('gained'),
        lost: async () => void told.push('lost'),
      };
      await a.roles.contend(holder);
      await b.roles.contend(holder);
      const sleep = statement('SELECT pg_sleep(4)');
      await Promise.all(Array.from({ length: 12 }, () => a.pool.rows(sleep).catch(() => undefined)));
      expect(told).toEqual(['gained']);
      expect(await seen(b)).toEqual([
        [A, true, true, 1],
        [B, true, false, null],
      ]);
    });

    it('end a hub that was away while newer ones have changed the tables, in words', async () => {
      const a = await hubs.start(A);
      const change = (generation: number, phase: string) =>
        hubs.database.query('INSERT INTO schema_migration (id, generation, phase) VALUES ($1, $2, $3)', [
          `${generation}-${phase}`,
          generation,
          phase,
        ]);
      await change(2, 'expand');
      await change(2, 'backfill');
      const b = await hubs.start(B, { generation: 2 });
      await eventually(() => a.hubs.others() === 1);
      expect(a.broken).toEqual([]);
      await change(2, 'contract');
      await eventually(() => a.broken.length > 0);
      expect(a.broken.map(({ message }) => message)).toEqual([
        expect.stringMatching(
          /^newer hubs have changed the tables of the database postgres:\S+ to schema generation 2, and this hub, of generation 1, cannot work on them any more: upgrade it$/,
        ),
      ]);
      await expect(hubs.start(C)).rejects.toThrow(/^newer hubs have changed the tables/);
      expect((await b.hubs.all()).map(({ id }) => id)).not.toContain(C);
      await change(4, 'expand');
      await eventually(() => b.broken.length > 0);
    });

    it('refuse a second hub with the id of one that runs, in words', async () => {
      const a = await hubs.start(A);
      await expect(hubs.start(A)).rejects.toThrow(
        /^another hub with the same id aaaaaaaaaaaa runs on the database postgres:\/\/postgres@127\.0\.0\.1:\d+\/test_\w+: each hub needs a dataDir of its own; remove the file hub-id from a dataDir that is a copy$/,
      );
      expect(a.broken).toEqual([]);
    });

    it('are removed when nobody has seen their hub for a day', async () => {
      const [a, b, c] = [await hubs.start(A), await hubs.start(B), await hubs.start(C)];
      const away = (hub: TestHub, time: string) =>
        hubs.database.query(`UPDATE hub SET seen_at = now() - interval '${time}' WHERE id = '${hub.id}'`);
      await b.crash();
      await c.crash();
      await away(b, '23 hours');
      await away(c, '25 hours');
      await rowsOf(a.pool, SWEEP, { hubId: A });
      expect(await seen(a)).toEqual([
        [A, true, false, null],
        [B, false, false, null],
      ]);
    });

    it('are taken over from a start that was killed, which ends if it comes back', async () => {
      const first = await hubs.start(A);
      first.proxy.accept(false);
      first.proxy.cut();
      await hubs.start(A);
      first.proxy.accept(true);
      await eventually(() => first.broken.length > 0);
      expect(first.broken[0]?.message).toMatch(/^another hub with the same id aaaaaaaaaaaa has begun on/);
    });
  });

  describe('shutdown preparations', () => {
    it('of a hub are its own, and end with it; that of all hubs stays', async () => {
      const [a, b] = [await hubs.start(A), await hubs.start(B)];
      await a.preparations.change('HUB', 5);
      await a.preparations.change('CLUSTER', 7);
      expect(await b.preparations.read()).toEqual({ HUB: null, CLUSTER: 7 });
      expect(await b.preparations.change('CLUSTER', 9)).toEqual({ HUB: null, CLUSTER: 7 });
      expect((await b.hubs.all())[0]).toMatchObject({ id: A, preparedAtMs: 5 });
      await a.crash();
      const again = await hubs.start(A);
      expect(await again.preparations.read()).toEqual({ HUB: null, CLUSTER: 7 });
    });
  });
});

describe('the id of a hub', () => {
  it('is made once, and refused when something else is in its file', async () => {
    const { path, remove } = await temporaryFolder();
    onTestFinished(remove);
    const id = await hubIdIn(path, systemRuntime.newId);
    expect(id).toMatch(/^[0-9a-f]{12}$/);
    expect(await hubIdIn(path, systemRuntime.newId)).toBe(id);
    const file = join(path, 'hub-id');
    expect(await readFile(file, 'utf8')).toBe(`${id}\n`);
    await writeFile(file, 'node-1');
    await expect(hubIdIn(path, systemRuntime.newId)).rejects.toThrow(`${file} has no id of a hub`);
  });
});
