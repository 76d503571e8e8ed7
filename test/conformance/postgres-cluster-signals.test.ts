/** Signals and relayed requests between two and three hubs on one database. */
import { AgentUnavailable } from '@workbench-hub/hub/core/ports/relay';
import type { Signal } from '@workbench-hub/hub/core/ports/signals';
import type { ClaimedTask } from '@workbench-hub/hub/core/ports/task-queue';
import { openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import { LOG_LEVEL } from '../support/memory-log.js';
import { hasPostgres } from '../support/stores/postgres.js';
import { FAST, joinAgent, type TestHub, TestHubs } from '../support/stores/postgres-cluster.js';

const [A, B, C] = ['aaaaaaaaaaaa', 'bbbbbbbbbbbb', 'cccccccccccc'];

/** Characters that transports like to lose: NUL, the escape of the store, half a pair, and quotes. */
const ODD = 'ü 𝄞 \0 \uFDD0 \uD83D "\\\n';

const ended = (taskId: string) => ({ kind: 'ENDED', taskId }) as const;

let hubs: TestHubs;
const startBoth = async () => {
  const both = [await hubs.start(A), await hubs.start(B)] as const;
  await eventually(() => both[0].hubs.others() === 1);
  return both;
};

describe.skipIf(!hasPostgres)('between hubs on PostgreSQL', () => {
  beforeEach(async () => {
    hubs = await TestHubs.open();
  });
  afterEach(() => hubs.end());

  describe('signals', () => {
    it('reach the own listeners at once, and the other hub whole and in order', async () => {
      const [a, b] = await startBoth();
      const told: Signal[] = [];
      const waiting = { taskId: ODD, groupId: 3, requirementKey: ODD, priorityRank: 1, sequence: 2 ** 52 };
      for (let n = 0; n < 300; n++) {
        told.push(ended(`t${n}`));
        // Some are longer than a notification may be, alone or together.
        if (n % 50 === 0) told.push({ kind: 'WAITS', tasks: Array.from({ length: n }, () => waiting) });
        if (n % 70 === 0) told.push({ kind: 'CANCELED', agentId: ODD, ref: ref(`${n}`) });
      }
      for (const signal of told) a.signals.tell(signal);
      expect(a.heard).toEqual(told);
      await eventually(() => b.heard.length === told.length);
      expect(b.heard).toEqual(told);
      expect(b.resyncs()).toBeLessThanOrEqual(1);
    });

    it('of each kind reach the other hub', async () => {
      const [a, b] = await startBoth();
      const told: Signal[] = [
        { kind: 'RETURNED', taskId: 't' },
        { kind: 'WITHDRAWN', taskId: 't', from: { groupId: 4 } },
        { kind: 'FREED', agentId: 'x', ref: ref('t'), coolsDown: true },
        {
          ...{ kind: 'EXCLUDED', taskId: 't', requirement: { version: null, labels: [ODD] } },
          exclusion: { agentId: 'x', reason: ODD, atMs: 5 },
        },
        { kind: 'DRAINS' },
        { kind: 'PREPARATION' },
      ];
      for (const signal of told) b.signals.tell(signal);
      await eventually(() => a.heard.length === told.length);
      expect(a.heard).toEqual(told);
    });

    it('of a newer hub are heard as far as they are known', async () => {
      // The first resync takes place only if another hub is there by then.
      await hubs.start(B);
      const a = await hubs.start(A);
      await eventually(() => a.resyncs() >= 1);
      const before = a.resyncs();
      const send = (payload: string) =>
        hubs.database.query("SELECT pg_notify('workbench_hub', $1)", [payload]);
      const signals = (number: number, ...each: object[]) =>
        send(`1 newer started ${number} ${JSON.stringify({ signals: each, urgent: true })}`);
      await signals(1, { signal: { ...ended('t1'), because: 'it can' }, trace: '00-ab' });
      await signals(2, { signal: { kind: 'DREAMT', taskId: 't' } }, { signal: ended('t2') });
      await signals(3, { signal: { kind: 'READY', agentId: 'x', mood: 1 }, epoch: 1, of: { x: [] } });
      await send('1 newer started 4 {"weather":"fine"}');
      await send('1 newer started 5 {"hub":"DREAMS","role":"LENT"}');
      await send('2 newer started 6 unreadable');
      await signals(7, { signal: ended('t3') });
      await eventually(() => a.heard.length >= 4);
      expect(a.heard.map(({ kind }) => kind)).toEqual(['ENDED', 'ENDED', 'READY', 'ENDED']);
      expect(a.heard[0]).toMatchObject(ended('t1'));
      // The number that was not understood is a gap.
      await eventually(() => a.resyncs() > before);
      expect(a.broken).toEqual([]);
      expect(a.lines.filter(({ level }) => level >= LOG_LEVEL.ERROR)).toEqual([]);
    });

    it('arrive within a few milliseconds', async () => {
      const [a, b] = await startBoth();
      const times: number[] = [];
      for (let n = 1; n <= 30; n++) {
        const toldAtMs = performance.now();
        a.signals.tell(ended(`t${n}`));
        await new Promise<void>((resolve) => {
          const stop = b.signals.hear({
            ENDED: () => {
              stop();
              resolve();
            },
          });
        });
        times.push(performance.now() - toldAtMs);
      }
      // The median, on a machine that may be busy.
      expect(times.sort((x, y) => x - y)[15]).toBeLessThan(50);
    });

    it('are heard by a hub that has caught up, when those who told them have', async () => {
      const [a, b] = await startBoth();
      const waiting = { taskId: ODD, groupId: 3, requirementKey: ODD, priorityRank: 1, sequence: 1 };
      for (let n = 1; n <= 20; n++) {
        // Every other one is too long for a notification.
        const tasks = Array.from({ length: n % 2 === 0 ? 1 : 200 }, () => waiting);
        a.signals.tell({ kind: 'WAITS', tasks });
        await a.signals.caughtUp();
        await b.signals.caughtUp();
        expect(b.heard).toHaveLength(n);
      }
    });

    it('are not waited for by a hub that is alone, nor for long by one that is cut off', async () => {
      const a = await hubs.start(A);
      await a.signals.caughtUp();
      await hubs.start(B);
      await eventually(() => a.hubs.others() === 1);
      a.proxy.accept(false);
      a.proxy.cut();
      const beganAtMs = performance.now();
      await Promise.all([a.signals.caughtUp(), a.signals.caughtUp()]);
      expect(performance.now() - beganAtMs).toBeLessThan(20_000);
    });

    it('are sent while another hub lives, and only then', async () => {
      const pool = openPool({ url: hubs.database.url, log: null });
      const listener = await pool.connect();
      onTestFinished(async () => {
        await listener.close();
        await pool.close();
      });
      let messages = 0;
      await listener.listen('workbench_hub', (payload) => {
        if (payload.includes('ENDED')) messages++;
      });
      const a = await hubs.start(A);
      a.signals.tell(ended('early'));
      const b = await hubs.start(B);
      await eventually(() => a.hubs.others() === 1);
      a.signals.tell(ended('late'));
      await eventually(() => b.heard.length === 1);
      expect(b.heard).toEqual([ended('late')]);
      await eventually(() => messages > 0);
      expect(messages).toBe(1);
    });

    it('that an assignment tells reach whom they concern', async () => {
      const [a, b] = await startBoth();
      const c = await hubs.start(C);
      await eventually(() => a.hubs.others() === 2 && b.hubs.others() === 2);
      await joinAgent(b, 'x');
      await joinAgent(a, 'y');
      await eventually(() => [a, b, c].every(({ heard }) => heard.length === 2));
      for (const hub of [a, b, c]) hub.heard.length = 0;
      const claimed = [claimedTask('t', 'x'), claimedTask('u', 'y'), claimedTask('v', 'nobody')];
      for (const task of claimed) a.signals.tell({ kind: 'ASSIGNED', claimed: task, startedAtMs: 7 });
      a.signals.tell(ended('last'));
      await eventually(() => [a, b, c].every(({ heard }) => heard.some(({ kind }) => kind === 'ENDED')));
      const told = ({ heard }: TestHub) =>
        heard.map((signal) => {
          if (signal.kind === 'ASSIGNED') return `gets ${signal.claimed.ref.taskId} ${signal.startedAtMs}`;
          return signal.kind === 'OCCUPIED' ? `${signal.agentId} ${signal.ref.taskId}` : signal.kind;
        });
      expect(told(a)).toEqual(['x t', 'gets u 7', 'gets v 7', 'ENDED']);
      expect(told(b)).toEqual(['gets t 7', 'y u', 'nobody v', 'ENDED']);
      expect(told(c)).toEqual(['x t', 'y u', 'nobody v', 'ENDED']);
      expect(b.heard[0]).toEqual({ kind: 'ASSIGNED', claimed: claimed[0], startedAtMs: 7 });
    });

    it('of an assignment to an agent of which only another hub knows are acted on by one hub', async () => {
      const [a, b] = await startBoth();
      a.proxy.dropsNotifications = true;
      await joinAgent(b, 'x');
      a.signals.tell({ kind: 'ASSIGNED', claimed: claimedTask('t', 'x'), startedAtMs: 7 });
      a.signals.tell(ended('last'));
      await eventually(() => b.heard.some(({ kind }) => kind === 'ENDED'));
      expect(a.heard.map(({ kind }) => kind)).toEqual(['ASSIGNED', 'ENDED']);
      expect(b.heard.map(({ kind }) => kind)).toEqual(['JOINED', 'OCCUPIED', 'ENDED']);
    });

    it('of an assignment to an agent of a hub that seems to be gone are left to that hub', async () => {
      const [a, b] = await startBoth();
      await joinAgent(b, 'x');
      await eventually(() => a.heard.length === 1);
      await b.crash();
      await eventually(() => a.hubs.others() === 0);
      a.signals.tell({ kind: 'ASSIGNED', claimed: claimedTask('t', 'x'), startedAtMs: 7 });
      expect(a.heard.map(({ kind }) => kind)).toEqual(['JOINED', 'OCCUPIED']);
    });

    it('of an assignment are dropped when another attempt runs meanwhile', async () => {
      const [a, b] = await startBoth();
      await joinAgent(b, 'x');
      await eventually(() => a.heard.length === 1);
      const earlier = claimedTask('t', 'x');
      hubs.claimed.set('t', { ...earlier, ref: { ...earlier.ref, attempt: 2 } });
      a.signals.tell({ kind: 'ASSIGNED', claimed: earlier, startedAtMs: 7 });
      a.signals.tell(ended('last'));
      await eventually(() => b.heard.some(({ kind }) => kind === 'ENDED'));
      expect(b.heard.map(({ kind }) => kind)).toEqual(['JOINED', 'ENDED']);
    });

    it('that were lost are noticed by the next one, and make the hub read again', async () => {
      const [a, b] = await startBoth();
      a.signals.tell(ended('first'));
      await eventually(() => b.heard.length === 1 && b.resyncs() >= 1);
      const before = b.resyncs();
      b.proxy.dropsNotifications = true;
      a.signals.tell(ended('lost'));
      await eventually(() => b.proxy.dropped.some((notification) => notification.includes('"lost"')));
      b.proxy.dropsNotifications = false;
      a.signals.tell(ended('second'));
      await eventually(() => b.resyncs() > before);
      expect(b.heard).toEqual([ended('first'), ended('second')]);
    });

    it('reach a hub again whose connections broke, after it has read again', async () => {
      const [a, b] = await startBoth();
      await eventually(() => b.resyncs() >= 1);
      const before = b.resyncs();
      b.proxy.cut();
      await eventually(() => b.resyncs() > before);
      a.signals.tell(ended('t'));
      await eventually(() => b.heard.length === 1);
    });

    it('go on when the sender’s connections broke', async () => {
      const [a, b] = await startBoth();
      for (let n = 0; n < 50; n++) {
        if (n % 10 === 5) a.proxy.cut();
        a.signals.tell(ended(`t${n}`));
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      await eventually(() => b.heard.length === 50);
      expect(b.heard).toEqual(Array.from({ length: 50 }, (_, n) => ended(`t${n}`)));
    });

    it('are backed by reading again now and then, while another hub lives', async () => {
      const timings = { timings: { ...FAST, resyncMs: 100 } };
      const a = await hubs.start(A, timings);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      expect(a.resyncs()).toBe(0);
      await hubs.start(B);
      await eventually(() => a.resyncs() > 2);
    });

    it('are backed by reading again once more when the last other hub has ended', async () => {
      const timings = { timings: { ...FAST, settleMs: 3_600_000 } };
      const [a, b] = [await hubs.start(A, timings), await hubs.start(B, timings)];
      await eventually(() => a.hubs.others() === 1);
      const before = a.resyncs();
      await b.close();
      await eventually(() => a.resyncs() > before);
    });

    it('that no notification brings are replaced by reading again, with one warning', async () => {
      const a = await hubs.start(A);
      const b = await hubs.start(B, {}, (proxy) => {
        proxy.dropsNotifications = true;
      });
      await eventually(() => b.resyncs() > 3);
      const warnings = b.lines.filter(({ msg }) =>
        msg.startsWith('notifications of the database do not arrive'),
      );
      expect(warnings).toHaveLength(1);
      expect(a.lines.filter(({ msg }) => msg.startsWith('notifications'))).toEqual([]);
    });
  });

  describe('relay', () => {
    const LOG = { kind: 'instanceLog', instanceId: 's', logType: 'console' } as const;

    it('reaches the hub that holds the agent, and brings a large reply in any characters', async () => {
      const [a, b] = await startBoth();
      await joinAgent(b, 'x');
      const taken: unknown[] = [];
      const text = ODD.repeat(200_000);
      b.relay.serve(async (...given) => {
        taken.push(given);
        return { error: null, text, offset: 7, attempt: 2 };
      });
      expect(await a.relay.ask('x', { ...LOG, instanceId: ODD }, 20_000)).toEqual({
        ...{ error: null, text, offset: 7, attempt: 2 },
      });
      expect(taken).toEqual([['x', { ...LOG, instanceId: ODD }, expect.any(Number)]]);
      await eventually(async () => (await openRequests()) === 0);
    });

    it('fails in the words of the hub that holds the agent', async () => {
      const [a, b] = await startBoth();
      await joinAgent(b, 'x');
      b.relay.serve(async () => {
        throw new AgentUnavailable('agent x disconnected');
      });
      const asked = a.relay.ask('x', LOG, 5000);
      await expect(asked).rejects.toBeInstanceOf(AgentUnavailable);
      await expect(asked).rejects.toThrow('agent x disconnected');
    });

    it('reaches a hub itself, if it runs', async () => {
      const [a, b] = await startBoth();
      const asked: unknown[] = [];
      b.relay.serveHub('audit', async (request) => {
        asked.push(request);
        return { error: null, text: ODD };
      });
      const request = { kind: 'audit', query: { limit: 5, user: ODD } } as const;
      expect(await a.relay.askHub(b.id, request, 5000)).toEqual({ error: null, text: ODD });
      expect(asked).toEqual([request]);
      const ofBlobs = { kind: 'heldBlobs', names: [] } as const;
      await expect(a.relay.askHub(b.id, ofBlobs, 5000)).rejects.toThrow(
        'starting, or has an earlier version',
      );
      await eventually(async () => (await openRequests()) === 0);
      await expect(a.relay.askHub('nobody', request, 5000)).rejects.toThrow('hub nobody does not run');
      b.relay.serveHub('audit', () => new Promise(() => undefined));
      const late = a.relay.askHub(b.id, request, 300);
      await expect(late).rejects.toThrow(`hub ${b.id} did not answer in 0.3 s`);
    });

    it('fails when there is no reply in time', async () => {
      const [a, b] = await startBoth();
      await joinAgent(b, 'x');
      b.relay.serve(() => new Promise(() => undefined));
      const asked = a.relay.ask('x', LOG, 300);
      await expect(asked).rejects.toBeInstanceOf(AgentUnavailable);
      await expect(asked).rejects.toThrow('agent x did not answer in 0.3 s');
      await eventually(async () => (await openRequests()) === 0);
    });

    it('arrives without notifications', async () => {
      const dropping = (proxy: TestHub['proxy']) => {
        proxy.dropsNotifications = true;
      };
      const [a, b] = [await hubs.start(A, {}, dropping), await hubs.start(B, {}, dropping)];
      await joinAgent(b, 'x');
      b.relay.serve(async () => ({ error: null, text: 'yes' }));
      expect(await a.relay.ask('x', LOG, 5000)).toEqual({ error: null, text: 'yes' });
    });

    it('of many requests at once brings each its own reply', async () => {
      const [a, b] = await startBoth();
      await joinAgent(a, 'x');
      await joinAgent(b, 'y');
      for (const { relay } of [a, b]) {
        relay.serve(async (agentId, request) => ({
          error: null,
          text: `${agentId} ${JSON.stringify(request)}`,
        }));
      }
      const requests = Array.from({ length: 40 }, (_, n) => ({ ...LOG, instanceId: `s${n}` }));
      const [fromA, fromB] = await Promise.all([
        Promise.all(requests.map((request) => a.relay.ask('y', request, 9000))),
        Promise.all(requests.map((request) => b.relay.ask('x', request, 9000))),
      ]);
      expect(fromA.map(({ text }) => text)).toEqual(requests.map((each) => `y ${JSON.stringify(each)}`));
      expect(fromB.map(({ text }) => text)).toEqual(requests.map((each) => `x ${JSON.stringify(each)}`));
    });
  });
});

function ref(taskId: string) {
  return { taskId, attempt: 1, instanceId: 's' };
}

/** A claimed task, which the store has from now on. */
function claimedTask(taskId: string, agentId: string): ClaimedTask {
  const job = { type: 'SIMULATE_WORK', durationS: 5 } as const;
  const claimed = { ref: ref(taskId), agentId, job, task: { id: taskId } } as unknown as ClaimedTask;
  hubs.claimed.set(taskId, claimed);
  return claimed;
}

async function openRequests(): Promise<number> {
  const [row] = await hubs.database.query<{ rows: number }>('SELECT count(*)::int AS rows FROM mail');
  return row?.rows ?? -1;
}
