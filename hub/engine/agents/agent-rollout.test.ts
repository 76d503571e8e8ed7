import type { AgentUpdate } from '@workbench-hub/shared/domain/agent-update';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, expect, it } from 'vitest';
import type { RolloutRules } from '../../core/agent-rollout.js';
import type { AgentRollouts } from '../../core/ports/agent-rollouts.js';
import type { HubView } from '../../core/ports/hubs.js';
import type { AgentView } from '../../core/ports/nodes.js';
import { AgentRollout } from './agent-rollout.js';
import type { OrderOptions } from './agent-updates.js';
import { rolloutsInMemory } from './fixtures/rollouts-in-memory.js';
import { RolloutViews } from './rollout-views.js';

const FILES = {
  version: '0.2.0',
  files: [{ system: 'linux-x64', digest: '0123456789abcdef'.repeat(4), sizeBytes: 1 }],
  find: () => undefined,
};
const NAME = '0.2.0-0123456789abcdef';
const IDLE: AgentUpdate = {
  unable: null,
  system: 'linux-x64',
  phase: 'IDLE',
  running: '0.1.0-f',
  target: null,
  problem: null,
  failed: null,
};
const FAILED = { name: NAME, reason: 'it ended with exit code 1', log: '', agoMs: 1 };
const RULES: RolloutRules = { groups: [{ labels: [] }], canaries: 1, atOnce: 10, hours: null };
/** Longer than the time between two looks. */
const LOOK_MS = 30_000;

let runtime: ManualRuntime;
/** Update state by agent; undefined for one that is not connected. */
let told: Map<string, Partial<AgentUpdate> | undefined>;
let ordered: [string, OrderOptions][];
let errors: object[];
let rollout: AgentRollout;
let rollouts: AgentRollouts;
let endedTerm: number;
let hubVersions: string[];
let wentBack: number;

beforeEach(() => {
  runtime = manualRuntime();
  told = new Map([
    ['a', {}],
    ['b', {}],
    ['c', {}],
  ]);
  [ordered, errors] = [[], []];
  endedTerm = 0;
  rollouts = rolloutsInMemory((term) => term <= endedTerm);
  hubVersions = ['0.2.0'];
  wentBack = 0;
});

const names = () => ordered.map(([id]) => id);

it('orders the others when the canary is done, each once', async () => {
  begin();
  await runtime.advance(LOOK_MS);
  expect(ordered).toEqual([['a', {}]]);
  told.set('a', { phase: 'DOWNLOADING' });
  await runtime.advance(LOOK_MS);
  // It restarts.
  told.set('a', undefined);
  await runtime.advance(LOOK_MS);
  told.set('a', { running: NAME, phase: 'TRIAL' });
  await runtime.advance(LOOK_MS);
  expect(names()).toEqual(['a']);
  told.set('a', { running: NAME });
  await runtime.advance(LOOK_MS);
  expect(names()).toEqual(['a', 'b', 'c']);
  for (const id of ['b', 'c']) told.set(id, { running: NAME });
  await runtime.advance(10 * LOOK_MS);
  expect(names()).toEqual(['a', 'b', 'c']);
  await rollout.stop();
});

it('waits for an agent that does not come back', async () => {
  begin();
  await runtime.advance(LOOK_MS);
  told.set('a', undefined);
  await runtime.advance(1000 * LOOK_MS);
  expect(names()).toEqual(['a']);
  await rollout.stop();
});

it('stops at a failure, tells it once, and goes on when the version works there after all', async () => {
  begin();
  await runtime.advance(LOOK_MS);
  told.set('a', { failed: FAILED });
  await runtime.advance(5 * LOOK_MS);
  expect(errors).toEqual([{ agents: ['a'] }]);
  // Also when it is away.
  told.set('a', undefined);
  await runtime.advance(5 * LOOK_MS);
  expect(names()).toEqual(['a']);
  told.set('a', { running: NAME });
  await runtime.advance(LOOK_MS);
  expect(names()).toEqual(['a', 'b', 'c']);
  await rollout.stop();
});

it('repeats an order that could not be carried out, after a while', async () => {
  begin();
  await runtime.advance(LOOK_MS);
  told.set('a', { problem: 'ENOSPC' });
  await runtime.advance(9 * 60_000);
  expect(names()).toEqual(['a']);
  await runtime.advance(2 * 60_000);
  expect(names()).toEqual(['a', 'a']);
  await rollout.stop();
});

it('orders in its hours only, and for the rest of them', async () => {
  const now = new Date(runtime.clock.nowMs());
  const minute = now.getHours() * 60 + now.getMinutes();
  const at = (minutes: number) => (minute + minutes) % (24 * 60);
  begin({ ...RULES, hours: { from: at(60), to: at(90) } });
  await runtime.advance(59 * 60_000);
  expect(ordered).toEqual([]);
  await runtime.advance(2 * 60_000);
  expect(ordered).toEqual([['a', { withinMs: 30 * 60_000 }]]);
  told.set('a', { running: NAME });
  await rollout.stop();
});

it('leaves agents alone that are joined hubs or cannot be asked, and does nothing without rules', async () => {
  told.clear();
  told.set('hub', {});
  begin();
  await runtime.advance(LOOK_MS);
  await rollout.stop();
  told.set('a', {});
  begin(null);
  await runtime.advance(LOOK_MS);
  expect(ordered).toEqual([]);
  expect(await progress()).toEqual({});
});

it('goes on in another term, after a restart of the hub, from what is kept', async () => {
  begin();
  await runtime.advance(LOOK_MS);
  expect(names()).toEqual(['a']);
  // The agent restarts while the hub does.
  await rollout.stop();
  told.set('a', undefined);
  begin(RULES, 2);
  await runtime.advance(100 * LOOK_MS);
  expect(names()).toEqual(['a']);
  told.set('a', { failed: FAILED });
  await runtime.advance(LOOK_MS);
  expect(errors).toHaveLength(1);
  await rollout.stop();
  // The agent has forgotten its failure.
  told.set('a', {});
  begin(RULES, 3);
  await runtime.advance(LOOK_MS);
  expect(names()).toEqual(['a']);
  expect(await view()).toMatchObject({ state: 'STOPPED' });
  await rollout.stop();
});

it('repeats an order that was not sent before the hub ended', async () => {
  await rollouts.begin({ target: TARGET, version: '0.2.0', begunAtMs: 0 });
  const member = { agentId: 'b', group: 0, running: null, reason: null, log: null, changedAtMs: 0 };
  await rollouts.record({ target: TARGET, changed: [{ ...member, progress: 'UNDER_WAY' }], gone: [] }, 1);
  begin();
  await runtime.advance(9 * 60_000);
  expect(names()).toEqual([]);
  await runtime.advance(2 * 60_000);
  expect(names()).toEqual(['a']);
  told.set('a', { running: NAME });
  await runtime.advance(LOOK_MS);
  expect(names()).toEqual(['a', 'b', 'c']);
  await rollout.stop();
});

it('orders nothing in a term that is over', async () => {
  endedTerm = 1;
  begin();
  await runtime.advance(10 * LOOK_MS);
  expect(ordered).toEqual([]);
  expect(await progress()).toEqual({});
  await rollout.stop();
});

it('stops for an administrator, and goes on past what has failed when it is resumed', async () => {
  begin();
  await views().stop('anna');
  await runtime.advance(10 * LOOK_MS);
  expect(ordered).toEqual([]);
  expect(await view()).toMatchObject({ state: 'STOPPED', rollout: { stoppedBy: 'anna' } });
  await views().resume('anna');
  await runtime.advance(LOOK_MS);
  expect(names()).toEqual(['a']);
  told.set('a', { failed: FAILED });
  await runtime.advance(10 * LOOK_MS);
  expect([names(), wentBack]).toEqual([['a'], 1]);
  await views().resume('anna');
  await runtime.advance(LOOK_MS);
  expect(names()).toEqual(['a', 'b']);
  expect(await progress()).toEqual({ a: 'PASSED_OVER', b: 'WAITING', c: 'OPEN' });
  expect(await views().counts()).toMatchObject({ PASSED_OVER: 1, WAITING: 1, OPEN: 1, DONE: 0 });
  // It fails there, too.
  told.set('b', { failed: FAILED });
  await runtime.advance(10 * LOOK_MS);
  expect([names(), wentBack]).toEqual([['a', 'b'], 2]);
  await rollout.stop();
});

it('waits while hubs of several versions share the database', async () => {
  hubVersions = ['0.1.0', '0.2.0'];
  begin();
  await runtime.advance(10 * LOOK_MS);
  expect(ordered).toEqual([]);
  expect(await view()).toMatchObject({ state: 'WAITING_FOR_HUBS' });
  hubVersions = ['0.2.0', '0.2.0'];
  await runtime.advance(LOOK_MS);
  expect(names()).toEqual(['a']);
  await rollout.stop();
});

it('keeps the failures of agents that are gone, and nothing else of them', async () => {
  begin();
  await runtime.advance(LOOK_MS);
  told.set('a', { failed: FAILED });
  await runtime.advance(LOOK_MS);
  for (const id of ['a', 'b']) told.delete(id);
  await runtime.advance(10 * LOOK_MS);
  expect(await progress()).toEqual({ a: 'FAILED', c: 'OPEN' });
  await views().resume('anna');
  await runtime.advance(LOOK_MS);
  expect(await progress()).toEqual({ a: 'PASSED_OVER', c: 'UNDER_WAY' });
  told.set('a', { failed: FAILED });
  await runtime.advance(LOOK_MS);
  expect(await progress()).toMatchObject({ a: 'PASSED_OVER' });
  expect(await view()).toMatchObject({ state: 'RUNNING' });
  await rollout.stop();
});

it('asks no agents of no group', async () => {
  begin({ ...RULES, groups: [{ labels: ['nowhere'] }] });
  await runtime.advance(10 * LOOK_MS);
  expect([ordered, await progress()]).toEqual([[], {}]);
  await rollout.stop();
});

it('is refused to administrators of a hub without one, with the reason', async () => {
  expect(await views(null).view()).toMatchObject({ state: 'ON_REQUEST', version: '0.2.0' });
  await expect(views(null).stop('anna')).rejects.toThrow(/no rollout to stop: .* on request only; set/);
  const off = views(RULES, null);
  expect(await off.view()).toMatchObject({ state: 'OFF', version: null });
  await expect(off.resume('anna')).rejects.toThrow(/no rollout to resume: this hub updates no agents; set/);
  expect(await off.counts()).toMatchObject({ DONE: 0 });
});

const TARGET = '0.2.0 linux-x64:0123456789abcdef';
const hubs = {
  all: async () => hubVersions.map((version) => ({ version, isLive: true }) as HubView),
};
const views = (
  rules: RolloutRules | null = RULES,
  offer: { files: typeof FILES } | null = { files: FILES },
) => new RolloutViews({ offer, rules, rollouts, hubs, clock: runtime.clock, log: { info: () => undefined } });
const view = () => views().view();
const progress = async () =>
  Object.fromEntries((await rollouts.members(TARGET)).map((member) => [member.agentId, member.progress]));

function begin(rules: RolloutRules | null = RULES, term = 1): void {
  rollout = new AgentRollout({
    ...{ rollouts, hubs, rules },
    offer: { files: FILES },
    metrics: { agentWentBack: () => wentBack++ },
    agents: () => [...told].map(([id, update]) => viewOf(id, update !== undefined)),
    updates: {
      state: async (id) => {
        const update = told.get(id);
        if (update === undefined) throw new Error('it is not connected');
        return { ...IDLE, ...update };
      },
      order: async (id, options = {}) => {
        ordered.push([id, options]);
        return IDLE;
      },
    },
    runtime,
    log: { info: () => undefined, warn: () => undefined, error: (what: object) => errors.push(what) },
  });
  rollout.start(term);
}

function viewOf(id: string, isUp: boolean): AgentView {
  return {
    id,
    version: '0.1.0',
    revision: 'abc',
    address: null,
    ...(id === 'hub' ? { hub: { id: 'h', baseUrl: null, below: [] } } : {}),
    status: isUp ? 'UP' : 'DOWN',
    seenAtMs: 0,
    clockOffsetMs: null,
    installation: { kind: null, os: null, arch: null },
    drain: null,
    instances: [],
  };
}
