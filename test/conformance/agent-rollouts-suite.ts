import type { RolloutMember } from '@workbench-hub/hub/core/agent-rollout';
import { KEPT_ROLLOUTS } from '@workbench-hub/hub/core/ports/agent-rollouts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OpenStore, StoreUnderTest } from './store-under-test.js';

/** Term of a scheduler that nobody has been yet. */
const TERM = 0;
const TARGET = '0.2.0 linux-x64:9f86d081884c7d65';

const memberOf = (agentId: string, rest: Partial<RolloutMember> = {}): RolloutMember => ({
  agentId,
  group: 0,
  progress: 'OPEN',
  running: '0.1.0-f',
  reason: null,
  log: null,
  changedAtMs: 20,
  ...rest,
});

export function describeAgentRollouts(open: OpenStore): void {
  let store: StoreUnderTest;
  beforeEach(async () => {
    store = await open();
  });
  afterEach(() => store.close());

  const begin = (target = TARGET, begunAtMs = 10) =>
    store.rollouts.begin({ target, version: '0.2.0', begunAtMs });
  const record = (changed: readonly RolloutMember[], gone: readonly string[] = []) =>
    store.rollouts.record({ target: TARGET, changed, gone }, TERM);
  const progress = async () =>
    (await store.rollouts.members(TARGET)).map(({ agentId, progress: each }) => [agentId, each]);

  describe('rollouts to agents', () => {
    it('are kept with all that they say, over a restart', async () => {
      await begin();
      const failed = memberOf('b', { progress: 'FAILED', reason: 'it ended', log: 'no library\0\n' });
      const unknown = memberOf('a', { group: 2, progress: 'UNKNOWN', running: null });
      expect(await record([failed, unknown])).toBe(true);
      expect(await store.rollouts.stop(TARGET, 30, 'anna')).toBe(true);
      store = await store.reopen();
      const rollout = { target: TARGET, version: '0.2.0', begunAtMs: 10, stoppedAtMs: 30, stoppedBy: 'anna' };
      expect(await store.rollouts.find(TARGET)).toEqual(rollout);
      expect(await store.rollouts.members(TARGET)).toEqual([unknown, failed]);
      expect(await store.rollouts.find('another')).toBeUndefined();
      expect(await store.rollouts.members('another')).toEqual([]);
    });

    it('begin once', async () => {
      await begin();
      await record([memberOf('a')]);
      await begin(TARGET, 99);
      expect((await store.rollouts.find(TARGET))?.begunAtMs).toBe(10);
      expect(await progress()).toEqual([['a', 'OPEN']]);
    });

    it('take new records in place of earlier ones, and lose those of agents that are gone', async () => {
      await begin();
      await record(['a', 'b', 'c'].map((id) => memberOf(id)));
      await record([memberOf('b', { progress: 'DONE', group: 1, running: '0.2.0-9' })], ['c', 'd']);
      await record([]);
      expect(await store.rollouts.members(TARGET)).toEqual([
        memberOf('a'),
        memberOf('b', { progress: 'DONE', group: 1, running: '0.2.0-9' }),
      ]);
    });

    it('have no records before they begin', async () => {
      await record([memberOf('a')]);
      expect(await progress()).toEqual([]);
    });

    it('are stopped and resumed, past the agents that have failed until then', async () => {
      expect(await store.rollouts.stop(TARGET, 30, 'anna')).toBe(false);
      await begin();
      expect(await store.rollouts.resume(TARGET, 40)).toBe(false);
      await record([memberOf('a', { progress: 'FAILED', log: 'why' }), memberOf('b', { progress: 'DONE' })]);
      expect(await store.rollouts.stop(TARGET, 50, 'anna')).toBe(true);
      expect(await store.rollouts.stop(TARGET, 60, 'vera')).toBe(false);
      expect(await store.rollouts.find(TARGET)).toMatchObject({ stoppedAtMs: 50, stoppedBy: 'anna' });
      expect(await store.rollouts.resume(TARGET, 70)).toBe(true);
      expect(await store.rollouts.find(TARGET)).toMatchObject({ stoppedAtMs: null, stoppedBy: null });
      expect(await store.rollouts.members(TARGET)).toEqual([
        memberOf('a', { progress: 'PASSED_OVER', log: 'why', changedAtMs: 70 }),
        memberOf('b', { progress: 'DONE' }),
      ]);
      expect(await store.rollouts.resume(TARGET, 80)).toBe(false);
      await record([memberOf('b', { progress: 'FAILED' })]);
      expect(await store.rollouts.resume(TARGET, 90)).toBe(true);
    });

    it('are removed when many have begun later, but not the one that begins', async () => {
      for (let at = 1; at <= KEPT_ROLLOUTS; at++) await begin(`target ${at}`, at);
      await begin(TARGET, 0);
      await record([memberOf('a')]);
      const found = async (target: string) => (await store.rollouts.find(target)) !== undefined;
      expect(await Promise.all(['target 1', 'target 2', TARGET].map(found))).toEqual([false, true, true]);
      await begin('latest', 99);
      expect(await found(TARGET)).toBe(false);
      expect(await progress()).toEqual([]);
    });
  });
}
