import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, expect, it } from 'vitest';
import type { PresentAgent, StartedInstance } from '../../core/ports/presence.js';
import type { RunningAttempt } from '../../core/ports/task-queue.js';
import { Instances } from './instances.js';
import { ViewRefresh } from './view-refresh.js';

const runtime = manualRuntime();
const { clock, timers } = runtime;

let agents: PresentAgent[];
let running: RunningAttempt[];
let instances: Instances;
let views: ViewRefresh;

beforeEach(() => {
  agents = [];
  running = [];
  instances = new Instances({ clock, timers, log: { warn: () => undefined } as unknown as Logger });
  views = new ViewRefresh({
    presence: { all: async () => agents },
    queue: { running: async () => running },
    instances,
    clock,
  });
});

const AGENT = { id: 'agent-1', version: '1', revision: '', address: null, clockOffsetMs: null };
const REF: AttemptRef = { taskId: 't', attempt: 1, instanceId: 'sim-1' };
const up = (id: string): StartedInstance => ({
  ...{ id, version: '9.1', revision: '', labels: [] },
  ...{ status: 'UP', upForMs: 1, startedAtMs: 1 },
});
/** A row of the agent while it is disconnected. */
const away = (...ids: string[]): PresentAgent => ({
  ...{ ...AGENT, seenAtMs: 5, isConnected: false },
  instances: ids.map((id) => ({ profile: up(id), status: 'UNKNOWN', startedAtMs: null })),
});
const shown = () => instances.list().map(({ profile, status }) => `${profile.id} ${status}`);

it('a refresh shows a disconnected agent whose join and end no signal has told', async () => {
  agents = [away('sim-1')];
  await views.refresh();
  expect(shown()).toEqual(['sim-1 UNKNOWN']);
  agents = [away('sim-1', 'sim-2')];
  await views.refresh();
  expect(shown()).toEqual(['sim-1 UNKNOWN', 'sim-2 UNKNOWN']);
});

it('a refresh leaves a disconnected agent with the same instances as it is', async () => {
  instances.connected(AGENT, [up('sim-1')], [REF]);
  agents = [away('sim-1')];
  await views.refresh();
  expect(shown()).toEqual(['sim-1 UNKNOWN']);
  expect(instances.find('sim-1')?.startedAtMs).toBe(1);
  expect(instances.attemptOn('sim-1')).toEqual(REF);
});

it('a refresh lets a connected agent take tasks ten seconds after it was seen to join, not before', async () => {
  const seenAtMs = clock.nowMs();
  const instance = { profile: up('sim-1'), status: 'UP', startedAtMs: 1 } as const;
  agents = [{ ...AGENT, seenAtMs, isConnected: true, instances: [instance] }];
  await views.refresh();
  await runtime.advance(9999);
  await views.refresh();
  expect([shown(), instances.isReady('agent-1')]).toEqual([['sim-1 UP'], false]);
  await runtime.advance(1);
  await views.refresh();
  expect(instances.isReady('agent-1')).toBe(true);
});

it('a refresh gives an agent that joins meanwhile none of the attempts that were read before', async () => {
  const agent = {
    ...{ ...AGENT, nodeId: 'n', joinNumber: null, seenAtMs: clock.nowMs() },
    instances: [up('sim-1')],
  };
  agents = [away('sim-1')];
  running = [{ agentId: 'agent-1', ref: REF }];
  const refreshed = views.refresh();
  for (const { onSignal } of [instances, views]) onSignal.JOINED?.({ kind: 'JOINED', agent, running: [] });
  await refreshed;
  expect(shown()).toEqual(['sim-1 UP']);
  expect(instances.attemptOn('sim-1')).toBeNull();
  await views.refresh();
  expect(instances.attemptOn('sim-1')).toEqual(REF);
});
