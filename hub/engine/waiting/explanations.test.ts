import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import { RunTimeBook } from '../../core/run-times.js';
import { Instances } from '../instances/instances.js';
import { Explanations, type ExplanationsOptions } from './explanations.js';

const AGENT = { id: 'agent-1', version: '1', revision: '', address: null, clockOffsetMs: null };
const REF: AttemptRef = { taskId: 't', attempt: 1, instanceId: 'sim-1' };

it('tasks ahead are counted in parts of 500 groups, and no further than 10,000', async () => {
  const runtime = manualRuntime();
  const { clock, timers } = runtime;
  const instances = new Instances({ clock, timers, log: { warn: () => undefined } as unknown as Logger });
  const profile = { id: 'sim-1', version: '9.1', revision: '', labels: [] };
  instances.connected(AGENT, [{ ...profile, status: 'UP', upForMs: 1, startedAtMs: 1 }], [REF]);
  const asked: [groups: number, limit: number][] = [];
  const explanations = new Explanations({
    queue: {
      countAhead: async (groups: readonly number[], _: unknown, limit: number) => {
        asked.push([groups.length, limit]);
        return Math.min(limit, 6000);
      },
    },
    ...{ instances, clock, timers, defaultVersion: null },
    runTimes: new RunTimeBook(),
    shutdown: { isPaused: false },
    hostOutlook: { of: async () => ({ outlooks: [], ending: [], timeMs: 0 }) },
    caughtUp: async () => undefined,
    waitingGroupsFor: async () => Array.from({ length: 1200 }, (_, at) => at),
  } as unknown as ExplanationsOptions);
  const explained = explanations.ofRequest([], null);
  await runtime.advance(1);
  expect((await explained).message).toBe('1 fitting instance is busy, at least 10000 tasks are ahead.');
  expect(asked).toEqual([
    [500, 10_000],
    [500, 4000],
  ]);
});
