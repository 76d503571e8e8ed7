/** Two hubs on one database whose connections break around statements, at random. */
import type { Signal } from '@workbench-hub/hub/core/ports/signals';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.js';
import { seededRandom } from '../support/random.js';
import { hasPostgres } from '../support/stores/postgres.js';
import { FAST, joinAgent, type TestHub, TestHubs } from '../support/stores/postgres-cluster.js';
import { CUTS, startStatementCutter } from '../support/stores/statement-cutter.js';

const SEEDS = [1, 2, 3];

const SLOWED_BY = 100;

/** A clock by which statements are repeated for long enough on a busy machine. */
const slowClock: Clock = {
  ...systemRuntime.clock,
  monotonicMs: () => systemRuntime.clock.monotonicMs() / SLOWED_BY,
};

let hubs: TestHubs;

describe.skipIf(!hasPostgres)('hubs whose connections break', () => {
  beforeEach(async () => {
    hubs = await TestHubs.open();
  });
  afterEach(() => hubs.end());

  /** Two hubs, whose connections break while `share` is above 0. */
  async function startBoth(seed: number, { clock } = systemRuntime) {
    const { next: random, of } = seededRandom(seed);
    const state = { share: 0 };
    const cutter = await startStatementCutter(hubs.database.server.port, () =>
      random() < state.share ? of(CUTS) : undefined,
    );
    onTestFinished(() => cutter.close());
    const through = (proxy: TestHub['proxy']) => {
      proxy.target = Number(new URL(cutter.through(hubs.database.url)).port);
    };
    // Longer, so that no hub counts as gone.
    const options = { timings: { ...FAST, lapseMs: 60_000 }, clock };
    const a = await hubs.start('aaaaaaaaaaaa', options, through);
    const b = await hubs.start('bbbbbbbbbbbb', options, through);
    await eventually(() => a.hubs.others() === 1);
    return { a, b, random, state, cutter };
  }

  it.each(SEEDS)('let each agent be where it joined last (seed %d)', async (seed) => {
    const { a, b, random, state, cutter } = await startBoth(seed, { ...systemRuntime, clock: slowClock });
    state.share = 0.1;
    const agents = Array.from({ length: 8 }, (_, n) => `x${n}`);
    const last = new Map<string, { hub: TestHub; epoch: number } | undefined>();
    /** Lets an agent join one of the hubs, perhaps after another, and sometimes leave again. */
    const move = async (id: string, leftAtMs: number) => {
      const hub = random() < 0.5 ? a : b;
      const former = last.get(id);
      const epoch = await joinAgent(hub, id);
      expect(epoch).toBeGreaterThan(former?.epoch ?? 0);
      last.set(id, { hub, epoch });
      if (former) expect(await former.hub.presence.leave(id, former.epoch, 5)).toBe(false);
      if (random() > 0.3) return;
      expect(await hub.presence.leave(id, epoch, leftAtMs)).toBe(true);
      last.set(id, undefined);
    };
    await Promise.all(
      agents.map(async (id) => {
        for (let round = 0; round < 10; round++) await move(id, 1000 + round);
      }),
    );
    state.share = 0;
    expect(CUTS.reduce((sum, cut) => sum + cutter.cuts[cut], 0)).toBeGreaterThan(5);
    const rows = await hubs.database.query<{ id: string; hub_id: string | null }>(
      'SELECT id, hub_id FROM agent ORDER BY id',
    );
    expect(rows.map(({ id, hub_id }) => [id, hub_id])).toEqual(
      agents.map((id) => [id, last.get(id)?.hub.id ?? null]),
    );
  });

  it.each(SEEDS)('tell signals once, in order, and read again what was lost (seed %d)', async (seed) => {
    const { a, b, state } = await startBoth(seed);
    // The first hub reads again only if the second one began while it did.
    await eventually(() => b.resyncs() > 0);
    const before = b.resyncs();
    state.share = 0.1;
    for (let n = 0; n < 300; n++) {
      a.signals.tell({ kind: 'ENDED', taskId: `${n}` });
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    state.share = 0;
    await eventually(() => {
      a.signals.tell({ kind: 'ENDED', taskId: '300' });
      return b.heard.some((signal) => numberOf(signal) === 300);
    });
    const numbers = b.heard.map(numberOf).filter((n) => n < 300);
    expect(numbers).toEqual([...new Set(numbers)].sort((x, y) => x - y));
    expect(numbers.length).toBeGreaterThan(30);
    // A resync follows a moment after the gap.
    if (numbers.length < 300) await eventually(() => b.resyncs() > before);
  });

  it.each(SEEDS)(
    'carry out each request of the other hub once, and bring its reply (seed %d)',
    async (seed) => {
      const { a, b, state } = await startBoth(seed);
      await joinAgent(b, 'x');
      const taken: string[] = [];
      b.relay.serve(async (_, request) => {
        const { instanceId } = request as { readonly instanceId: string };
        taken.push(instanceId);
        return { error: null, text: `reply to ${instanceId}` };
      });
      state.share = 0.1;
      const ids = Array.from({ length: 40 }, (_, n) => `s${n}`);
      const replies = await Promise.all(
        ids.map((instanceId) =>
          a.relay.ask('x', { kind: 'instanceCommand', instanceId, command: 'restart' }, 20_000),
        ),
      );
      state.share = 0;
      expect(replies.map(({ text }) => text)).toEqual(ids.map((id) => `reply to ${id}`));
      expect([...taken].sort()).toEqual([...ids].sort());
    },
  );

  it('notice that they are cut off from a database that others use', async () => {
    const a = await hubs.start('aaaaaaaaaaaa');
    const b = await hubs.start('bbbbbbbbbbbb');
    await eventually(() => a.hubs.others() === 1 && b.hubs.others() === 1);
    b.proxy.accept(false);
    b.proxy.cut();
    await eventually(() => b.heard.some(({ kind }) => kind === 'CUT_OFF'));
    expect(a.heard.map(({ kind }) => kind)).not.toContain('CUT_OFF');
  });

  it('do not let their agents go when they are alone', async () => {
    const a = await hubs.start('aaaaaaaaaaaa');
    a.proxy.accept(false);
    a.proxy.cut();
    await new Promise((resolve) => setTimeout(resolve, 2 * (FAST.cutOffMs ?? 0)));
    expect(a.heard.map(({ kind }) => kind)).not.toContain('CUT_OFF');
  });
});

function numberOf(signal: Signal): number {
  return signal.kind === 'ENDED' ? Number(signal.taskId) : -1;
}
