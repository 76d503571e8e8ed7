import { canTransition } from '@workbench-hub/shared/domain/state-machine';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, test } from 'vitest';
import { ATTEMPT_TRANSITIONS, type AttemptPhase } from '../../core/attempt-states.js';
import { ProgramLost } from '../../core/ports/programs.js';
import type { Reservation } from '../supervisor.js';
import { AttemptRun } from './attempt-run.js';

const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim-1' };

const CLAIM = {
  program: {},
  lost: new AbortController().signal,
  cancel: () => undefined,
} as unknown as Reservation;

async function attemptThatIs(phase: AttemptPhase): Promise<AttemptRun> {
  const run = new AttemptRun(REF, CLAIM, null);
  if (phase === 'COLLECTING') await run.call(systemRuntime, () => Promise.resolve());
  if (phase === 'STOPPING') run.end('TIME_LIMIT');
  expect(run.phase).toBe(phase);
  return run;
}

const REASONS = { cancel: 'CANCEL', timeLimit: 'TIME_LIMIT', evict: 'AGENT_STOPS' } as const;
const pairs = (['RUNNING', 'COLLECTING', 'STOPPING'] as const).flatMap((phase) =>
  (Object.keys(REASONS) as (keyof typeof REASONS)[]).map((transition) => ({ phase, transition })),
);

describe('an attempt on its agent', () => {
  test.each(pairs)('that is $phase: $transition', async ({ phase, transition }) => {
    const run = await attemptThatIs(phase);
    const before = run.endReason;
    const isAllowed = canTransition<AttemptPhase>(ATTEMPT_TRANSITIONS[transition], phase);
    expect(run.end(REASONS[transition])).toBe(isAllowed);
    expect(run.phase).toBe(isAllowed ? 'STOPPING' : phase);
    expect(run.endReason).toBe(isAllowed ? REASONS[transition] : before);
    expect(run.signal.aborted).toBe(isAllowed || phase === 'STOPPING');
  });
});

test('an attempt whose program is lost reports the last lines of standard error, which are known a moment later', async () => {
  const lost = new AbortController();
  const run = new AttemptRun(REF, { ...CLAIM, lost: lost.signal }, null);
  const called = run
    .call(systemRuntime, () => Promise.reject(new ProgramLost('the program has ended')))
    .catch((error: unknown) => run.endingOf(error));
  await new Promise(setImmediate);
  lost.abort(new ProgramLost('it was ended by SIGSEGV; its last lines on standard error: out of memory'));
  expect(await called).toEqual({
    outcome: 'INSTANCE_LOST',
    message: 'it was ended by SIGSEGV; its last lines on standard error: out of memory',
  });
});

test('an attempt that was lost, perhaps through another one, is returned', async () => {
  const lost = new AbortController();
  const run = new AttemptRun(REF, { ...CLAIM, lost: lost.signal }, null);
  lost.abort(new ProgramLost('it was ended by SIGSEGV', { isOfOthers: true }));
  const called = run.call(systemRuntime, () => Promise.reject(new ProgramLost('the program has ended')));
  expect(await called.catch((error: unknown) => run.endingOf(error))).toEqual({
    outcome: 'RETURNED',
    message: 'it was ended by SIGSEGV',
  });
});
