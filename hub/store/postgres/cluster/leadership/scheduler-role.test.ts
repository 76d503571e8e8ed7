import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, expect, it } from 'vitest';
import type { Database } from '../../connection/pool.js';
import { StatementRetries } from '../common/statement-retries.js';
import { CLUSTER_TIMINGS } from '../common/timings.js';
import { GAIN, SchedulerRole } from './scheduler-role.js';

const silent = () => undefined;

const runtime = manualRuntime();
/** The end of the latest question for the role, with the number of the term. */
let answer: (term: number) => void = silent;
const rows = ({ text }: { text: string }) =>
  text === GAIN.text
    ? new Promise((resolve) => {
        answer = (term) => resolve([{ term }]);
      })
    : Promise.resolve([{ term: 1 }]);
const role = new SchedulerRole({
  ...{ hubId: 'own', incarnation: 'first', clock: runtime.clock, timers: runtime.timers },
  control: { rows } as unknown as Database,
  timings: CLUSTER_TIMINGS,
  log: { info: silent, warn: silent, error: silent } as unknown as Logger,
  retries: new StatementRetries(runtime),
  onFree: silent,
});
afterEach(() => role.resign());

it('begins no term whose time ended before the response was read, and tries again', async () => {
  const begun: number[] = [];
  const contended = role.contend({
    gained: async (term) => void begun.push(term),
    lost: async () => undefined,
  });
  await runtime.advance(CLUSTER_TIMINGS.trustRoleMs);
  answer(1);
  await contended;
  expect(begun).toEqual([]);
  expect(role.isHeld).toBe(false);

  await runtime.advance(CLUSTER_TIMINGS.contendMs);
  answer(2);
  await runtime.advance(0);
  expect(begun).toEqual([2]);
  expect(role.isHeld).toBe(true);
});
