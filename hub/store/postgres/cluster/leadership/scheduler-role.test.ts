import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Database } from '../../connection/pool.js';
import { StatementRetries } from '../common/statement-retries.js';
import { CLUSTER_TIMINGS } from '../common/timings.js';
import { GAIN, SchedulerRole } from './scheduler-role.js';
import { RENEW } from './scheduler-term.js';

const silent = () => undefined;

let runtime: ManualRuntime;
let role: SchedulerRole;
/** The end of the latest question for the role, with the number of the term. */
let answer: (term: number) => void;
/** Number of questions for the role. */
let asked: number;
/** Whether another hub has the role when it is renewed. */
let isTaken: boolean;
/** Terms that have begun. */
let begun: number[];

beforeEach(() => {
  runtime = manualRuntime();
  answer = silent;
  asked = 0;
  isTaken = false;
  begun = [];
  const rows = ({ text }: { text: string }) => {
    if (text === RENEW.text) return Promise.resolve(isTaken ? [] : [{ term: 1 }]);
    if (text !== GAIN.text) return Promise.resolve([{ term: 1 }]);
    asked++;
    return new Promise((resolve) => {
      answer = (term) => resolve([{ term }]);
    });
  };
  role = new SchedulerRole({
    ...{ hubId: 'own', incarnation: 'first', clock: runtime.clock, timers: runtime.timers },
    control: { rows } as unknown as Database,
    timings: CLUSTER_TIMINGS,
    log: { info: silent, warn: silent, error: silent } as unknown as Logger,
    retries: new StatementRetries(runtime),
    onFree: silent,
  });
});
afterEach(async () => {
  const resigned = role.resign();
  // A question that is open.
  answer(9);
  await resigned;
});

const contend = () =>
  role.contend({ gained: async (term) => void begun.push(term), lost: async () => undefined });

it('begins no term whose time ended before the response was read, and tries again', async () => {
  const contended = contend();
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

it('tries at once when the role may be free, unless the hub has it: then in its time after the term', async () => {
  const contended = contend();
  answer(1);
  await contended;
  role.tryNow();
  isTaken = true;
  await runtime.advance(CLUSTER_TIMINGS.renewRoleMs);
  expect([role.isHeld, asked]).toEqual([false, 1]);
  await runtime.advance(CLUSTER_TIMINGS.contendMs - 1);
  expect(asked).toBe(1);
  role.tryNow();
  await runtime.advance(0);
  expect(asked).toBe(2);
  answer(2);
  await runtime.advance(0);
  expect(begun).toEqual([1, 2]);
});
