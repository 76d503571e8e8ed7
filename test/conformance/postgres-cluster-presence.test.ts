/** Agents of two and three hubs on one database. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { hasPostgres } from '../support/stores/postgres.js';
import {
  FAST,
  joinAgent,
  type TestHub,
  type TestHubOptions,
  TestHubs,
  testAgent,
} from '../support/stores/postgres-cluster.js';

const [A, B, C] = ['aaaaaaaaaaaa', 'bbbbbbbbbbbb', 'cccccccccccc'];

let hubs: TestHubs;
const startBoth = async (options: TestHubOptions = {}) => {
  const both = [await hubs.start(A, options), await hubs.start(B, options)] as const;
  await eventually(() => both[0].hubs.others() === 1);
  return both;
};
const seen = async ({ presence }: TestHub) =>
  (await presence.all()).map(({ id, isConnected, instances }) =>
    [
      id,
      isConnected ? 'connected' : 'away',
      ...instances.map(({ profile, status }) => `${profile.id} ${status}`),
    ].join(' '),
  );
const kinds = ({ heard }: TestHub) => heard.map(({ kind }) => kind);
const schedule = ({ roles }: TestHub) =>
  roles.contend({ gained: async () => undefined, lost: async () => undefined });
/** Breaks all connections of a hub, until they are let through again. */
const cutOff = ({ proxy }: TestHub) => {
  proxy.accept(false);
  proxy.cut();
};

describe.skipIf(!hasPostgres)('agents of several hubs on PostgreSQL', () => {
  beforeEach(async () => {
    hubs = await TestHubs.open();
  });
  afterEach(() => hubs.end());

  describe('an agent', () => {
    it('is seen by all hubs, with each change', async () => {
      const [a, b] = await startBoth();
      const epoch = await joinAgent(a, 'x');
      expect(await seen(b)).toEqual(['x connected x-sim UP']);
      const report = testAgent('x').instances[0];
      if (report) a.presence.changed('x', epoch, { ...report, status: 'FAILED', upForMs: null });
      await eventually(async () => (await seen(b))[0] === 'x connected x-sim FAILED');
      expect(await a.presence.leave('x', epoch, 9)).toBe(true);
      expect(await seen(b)).toEqual(['x away x-sim UNKNOWN']);
      expect(await b.presence.forget('x')).toBe(true);
      expect(await seen(a)).toEqual([]);
    });

    it('that joins another hub replaces its connection, of which the former hub hears', async () => {
      const [a, b] = await startBoth();
      const former = await joinAgent(a, 'x');
      const epoch = await joinAgent(b, 'x', { instanceIds: ['s'] });
      expect(epoch).toBeGreaterThan(former);
      await eventually(() => a.heard.length === 3);
      expect(a.heard.slice(1)).toEqual([
        { kind: 'REPLACED', agentId: 'x' },
        { kind: 'JOINED', agent: testAgent('x', { instanceIds: ['s'] }), running: [] },
      ]);
      // The former connection ends: nobody takes the agent for disconnected.
      a.signals.tell({ kind: 'LEFT', agentId: 'x' });
      expect(await a.presence.leave('x', former, 9)).toBe(false);
      b.signals.tell({ kind: 'READY', agentId: 'x' });
      a.signals.tell({ kind: 'ENDED', taskId: 'last' });
      await eventually(() => kinds(b).includes('ENDED') && kinds(a).includes('READY'));
      expect(kinds(a)).toEqual(['JOINED', 'REPLACED', 'JOINED', 'ENDED', 'READY']);
      expect(kinds(b).filter((kind) => kind === 'LEFT')).toEqual([]);
      expect(await seen(a)).toEqual(['x connected s UP']);
    });

    it('that left a hub before the news of its next join keeps that', async () => {
      const [a, b] = await startBoth();
      await joinAgent(a, 'x');
      const joined = await b.presence.join(testAgent('x'));
      expect(joined).toHaveProperty('epoch');
      // Both hubs tell at the same time.
      a.signals.tell({ kind: 'LEFT', agentId: 'x' });
      b.signals.tell({ kind: 'JOINED', agent: testAgent('x'), running: [] });
      await eventually(
        () => kinds(a).includes('REPLACED') || kinds(a).filter((k) => k === 'JOINED').length === 2,
      );
      expect(kinds(a).at(-1)).toBe('JOINED');
      expect(kinds(b).at(-1)).toBe('JOINED');
    });

    it('is refused while another node has its id at another hub', async () => {
      const [a, b] = await startBoth();
      await joinAgent(a, 'x');
      expect(await b.presence.join(testAgent('x', { nodeId: 'other' }))).toMatchObject({
        code: 'AGENT_ID_TAKEN',
        message: expect.stringContaining(' x '),
      });
    });

    it('that gives up before it is its turn does not join, and keeps no other from it', async () => {
      const a = await hubs.start(A);
      let isOpen = true;
      const first = joinAgent(a, 'first');
      const waiting = a.presence.join(testAgent('waiting'), () => isOpen);
      isOpen = false;
      const last = joinAgent(a, 'last');
      expect(await waiting).toBeUndefined();
      expect(await last).toBeGreaterThan(await first);
      expect(await seen(a)).toEqual(['first connected first-sim UP', 'last connected last-sim UP']);
    });

    it('is refused while an agent of another hub has one of its instances, also when both join at once', async () => {
      const [a, b] = await startBoth();
      const join = ({ presence }: TestHub, id: string) =>
        presence.join(testAgent(id, { instanceIds: ['r', 's'] }));
      for (let round = 0; round < 5; round++) {
        const both = await Promise.all([join(a, `x${round}`), join(b, `y${round}`)]);
        const refused = both.filter((joined) => joined && 'code' in joined);
        expect(refused).toMatchObject([{ code: 'INSTANCE_ID_TAKEN' }]);
        const [atA, atB] = both;
        if (atA && 'epoch' in atA) await a.presence.leave(`x${round}`, atA.epoch, 9);
        if (atB && 'epoch' in atB) await b.presence.leave(`y${round}`, atB.epoch, 9);
      }
    });

    it('of an ordered stop is disconnected at once', async () => {
      const [a, b] = await startBoth();
      await joinAgent(a, 'x');
      await eventually(() => b.heard.length === 1);
      await a.close();
      expect(await seen(b)).toEqual(['x away x-sim UNKNOWN']);
      await eventually(() => kinds(b).includes('LEFT'));
    });
  });

  describe('a hub that is gone', () => {
    it('holds no agents: they may join from another node, and the scheduler tells that they left', async () => {
      const [a, b] = await startBoth();
      const c = await hubs.start(C);
      await schedule(b);
      await joinAgent(a, 'x');
      await joinAgent(b, 'y');
      await eventually(() => kinds(c).length === 2 && kinds(b).length === 2);
      await a.crash();
      expect(await b.presence.join(testAgent('x', { nodeId: 'other' }))).toHaveProperty('code');
      await eventually(() => kinds(b).includes('LEFT') && kinds(c).includes('LEFT'));
      for (const hub of [b, c]) expect(hub.heard.at(-1)).toEqual({ kind: 'LEFT', agentId: 'x' });
      expect(await seen(c)).toEqual(['x away x-sim UNKNOWN', 'y connected y-sim UP']);
      expect((await b.hubs.all()).map(({ isLive, agents }) => [isLive, agents])).toEqual([
        [false, 0],
        [true, 1],
        [true, 0],
      ]);
      await joinAgent(c, 'x', { nodeId: 'other', instanceIds: ['x-sim'] });
      expect(await seen(b)).toEqual(['x connected x-sim UP', 'y connected y-sim UP']);
    });

    it('hears of agents whose connections do not count any more, when it is back', async () => {
      const [a, b] = await startBoth();
      await schedule(b);
      await joinAgent(a, 'x');
      await joinAgent(a, 'y');
      await eventually(() => b.heard.length === 2);
      cutOff(a);
      await eventually(() => kinds(b).filter((kind) => kind === 'LEFT').length === 2);
      await joinAgent(b, 'x');
      a.proxy.accept(true);
      await eventually(() => kinds(a).filter((kind) => kind === 'REPLACED').length === 2);
      expect(await seen(a)).toEqual(['x connected x-sim UP', 'y away y-sim UNKNOWN']);
    });

    it('keeps its agents when it was away for a moment only', async () => {
      // A busy machine may make the moment longer than the limits of the other tests.
      const [a, b] = await startBoth({ timings: { ...FAST, cutOffMs: 60_000, lapseMs: 90_000 } });
      await schedule(b);
      await joinAgent(a, 'x');
      cutOff(a);
      await new Promise((resolve) => setTimeout(resolve, 500));
      const resyncs = a.resyncs();
      a.proxy.accept(true);
      await eventually(() => a.resyncs() > resyncs);
      expect(kinds(a)).toEqual(['JOINED']);
      expect(await seen(b)).toEqual(['x connected x-sim UP']);
    });
  });

  describe('a database that is away', () => {
    it('lets an agent leave and an instance change when it is back', async () => {
      const [a, b] = await startBoth();
      const epoch = await joinAgent(a, 'x');
      const other = await joinAgent(a, 'y');
      cutOff(a);
      const left = a.presence.leave('x', epoch, 9);
      const report = testAgent('y').instances[0];
      if (report) a.presence.changed('y', other, { ...report, status: 'STOPPING' });
      await new Promise((resolve) => setTimeout(resolve, 300));
      a.proxy.accept(true);
      expect(await left).toBe(true);
      await eventually(
        async () => (await seen(b)).join() === 'x away x-sim UNKNOWN,y connected y-sim STOPPING',
      );
    });

    it('refuses a join after ten seconds, and what comes then at once', async () => {
      const a = await hubs.start(A);
      cutOff(a);
      const startedAtMs = performance.now();
      await expect(a.presence.join(testAgent('x'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(performance.now() - startedAtMs).toBeGreaterThan(9000);
      const laterAtMs = performance.now();
      await expect(a.presence.all()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(performance.now() - laterAtMs).toBeLessThan(5000);
      a.proxy.accept(true);
      await eventually(() => a.presence.all());
      await joinAgent(a, 'x');
    });
  });
});
