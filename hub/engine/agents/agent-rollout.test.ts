import type { AgentUpdate } from '@workbench-hub/shared/domain/agent-update';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, expect, it } from 'vitest';
import type { RolloutRules } from '../../core/agent-rollout.js';
import type { AgentView } from '../../core/ports/nodes.js';
import { AgentRollout } from './agent-rollout.js';
import type { OrderOptions } from './agent-updates.js';

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

beforeEach(() => {
  runtime = manualRuntime();
  told = new Map([
    ['a', {}],
    ['b', {}],
    ['c', {}],
  ]);
  [ordered, errors] = [[], []];
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
});

function begin(rules: RolloutRules | null = RULES): void {
  rollout = new AgentRollout({
    offer: { files: FILES },
    rules,
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
  rollout.start();
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
