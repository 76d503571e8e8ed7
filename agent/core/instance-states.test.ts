import { describe, expect, test } from 'vitest';
import {
  advance,
  CRASH_LOOP_FAILURES,
  crashLoopBackoffMs,
  INSTANCE_TRANSITIONS,
  type InstanceLifecycle,
  isIdle,
  type LifecycleEvent,
  NEW_INSTANCE,
  PHASES,
  statusOf,
  type Trigger,
} from './instance-states.js';

const START: LifecycleEvent = { type: 'COMMAND', command: 'start' };
const STOP: LifecycleEvent = { type: 'COMMAND', command: 'stop' };
const RESTART: LifecycleEvent = { type: 'COMMAND', command: 'restart' };
const READY: LifecycleEvent = { type: 'READY' };
const CLAIMED: LifecycleEvent = { type: 'CLAIMED' };
const RELEASED: LifecycleEvent = { type: 'RELEASED', completed: true };
const BACKOFF_OVER: LifecycleEvent = { type: 'BACKOFF_OVER' };
const CRASHED: LifecycleEvent = { type: 'ENDED', onPurpose: false, upForMs: 0 };
const ENDED: LifecycleEvent = { type: 'ENDED', onPurpose: true, upForMs: 0 };
const ENDED_WITH_JOB: LifecycleEvent = { type: 'ENDED_WITH_JOB', completed: true };

/** Phases and actions of a new instance after each event. */
function follow(...events: LifecycleEvent[]): string[] {
  let instance: InstanceLifecycle = NEW_INSTANCE;
  return events.map((event) => {
    const next = advance(instance, event);
    instance = next.instance;
    return next.action === 'NOTHING' ? instance.phase : `${instance.phase} ${next.action}`;
  });
}

describe('an instance', () => {
  test('is started and stopped by command', () => {
    expect(follow(START, READY, STOP, ENDED, START)).toEqual([
      'STARTING START_PROGRAM',
      'UP',
      'STOPPING STOP_PROGRAM',
      'DOWN',
      'STARTING START_PROGRAM',
    ]);
  });

  test('ignores a repeated command', () => {
    expect(follow(STOP, START, START, READY, START, STOP, STOP, ENDED, STOP)).toEqual([
      'DOWN',
      'STARTING START_PROGRAM',
      'STARTING',
      'UP',
      'UP',
      'STOPPING STOP_PROGRAM',
      'STOPPING',
      'DOWN',
      'DOWN',
    ]);
  });

  test('is restarted', () => {
    expect(follow(START, READY, RESTART, ENDED, READY)).toEqual([
      'STARTING START_PROGRAM',
      'UP',
      'STOPPING STOP_PROGRAM',
      'STARTING START_PROGRAM',
      'UP',
    ]);
    expect(follow(RESTART)).toEqual(['STARTING START_PROGRAM']);
  });

  test('lets its task end before a stop', () => {
    expect(follow(START, READY, CLAIMED, STOP, RELEASED, ENDED)).toEqual([
      'STARTING START_PROGRAM',
      'UP',
      'UP',
      'DRAINING',
      'STOPPING STOP_PROGRAM',
      'DOWN',
    ]);
    expect(follow(START, READY, CLAIMED, RESTART, CRASHED)).toEqual([
      'STARTING START_PROGRAM',
      'UP',
      'UP',
      'DRAINING',
      'STARTING START_PROGRAM',
    ]);
  });

  test('obeys the last of several commands', () => {
    expect(follow(START, READY, CLAIMED, STOP, START, RELEASED)).toEqual([
      'STARTING START_PROGRAM',
      'UP',
      'UP',
      'DRAINING',
      'UP',
      'UP',
    ]);
    expect(follow(START, READY, CLAIMED, RESTART, START, RELEASED, ENDED)).toEqual([
      'STARTING START_PROGRAM',
      'UP',
      'UP',
      'DRAINING',
      'DRAINING',
      'STOPPING STOP_PROGRAM',
      'STARTING START_PROGRAM',
    ]);
    expect(follow(START, READY, STOP, START, ENDED)).toEqual([
      'STARTING START_PROGRAM',
      'UP',
      'STOPPING STOP_PROGRAM',
      'STOPPING',
      'STARTING START_PROGRAM',
    ]);
    expect(follow(START, STOP, RESTART, STOP, ENDED)).toEqual([
      'STARTING START_PROGRAM',
      'STOPPING STOP_PROGRAM',
      'STOPPING',
      'STOPPING',
      'DOWN',
    ]);
  });

  test('is restarted after a backoff when it ends by itself', () => {
    expect(follow(START, READY, CRASHED, BACKOFF_OVER, READY)).toEqual([
      'STARTING START_PROGRAM',
      'UP',
      'BACKOFF BACK_OFF',
      'STARTING START_PROGRAM',
      'UP',
    ]);
    expect(follow(START, CRASHED, STOP, BACKOFF_OVER)).toEqual([
      'STARTING START_PROGRAM',
      'BACKOFF BACK_OFF',
      'DOWN',
      'DOWN',
    ]);
    expect(follow(START, CRASHED, RESTART)).toEqual([
      'STARTING START_PROGRAM',
      'BACKOFF BACK_OFF',
      'STARTING START_PROGRAM',
    ]);
  });

  test('is restarted at once when the agent killed it', () => {
    expect(follow(START, READY, CLAIMED, ENDED)).toEqual([
      'STARTING START_PROGRAM',
      'UP',
      'UP',
      'STARTING START_PROGRAM',
    ]);
  });

  test('in a sandbox has another program for each job', () => {
    expect(follow(START, READY, CLAIMED, ENDED_WITH_JOB, RELEASED, READY, CLAIMED)).toEqual([
      'STARTING START_PROGRAM',
      'UP',
      'UP',
      'STARTING START_PROGRAM',
      'STARTING',
      'UP',
      'UP',
    ]);
    expect(follow(START, READY, CLAIMED, STOP, ENDED_WITH_JOB).slice(-2)).toEqual(['DRAINING', 'DOWN']);
    expect(follow(START, READY, CLAIMED, STOP, RELEASED, ENDED_WITH_JOB).slice(-2)).toEqual([
      'STOPPING STOP_PROGRAM',
      'DOWN',
    ]);
    expect(follow(START, READY, CLAIMED, RESTART, ENDED_WITH_JOB).at(-1)).toBe('STARTING START_PROGRAM');
  });

  test('in a sandbox has no failures counted once a job completed', () => {
    const failures = Array.from({ length: CRASH_LOOP_FAILURES - 1 }, () => [CRASHED, BACKOFF_OVER]).flat();
    const tried = [START, ...failures, READY, CLAIMED];
    expect(follow(...tried, ENDED_WITH_JOB, CRASHED).at(-1)).toBe('BACKOFF BACK_OFF');
    expect(follow(...tried, { type: 'ENDED_WITH_JOB', completed: false }, CRASHED).at(-1)).toBe(
      'FAILED BACK_OFF',
    );
  });

  test('enters the crash loop after too many failures in a row only', () => {
    const failures = Array.from({ length: CRASH_LOOP_FAILURES }, () => [BACKOFF_OVER, CRASHED])
      .flat()
      .slice(1);
    expect(follow(START, ...failures).at(-1)).toBe('FAILED BACK_OFF');
    expect(follow(START, ...failures.slice(0, -1), READY, CLAIMED, RELEASED, CRASHED).at(-1)).toBe(
      'BACKOFF BACK_OFF',
    );
    const afterAnHour: LifecycleEvent = { type: 'ENDED', onPurpose: false, upForMs: 3_600_000 };
    expect(follow(START, ...failures.slice(0, -1), READY, afterAnHour).at(-1)).toBe('BACKOFF BACK_OFF');
    expect(follow(START, ...failures, START, CRASHED).slice(-2)).toEqual([
      'STARTING START_PROGRAM',
      'BACKOFF BACK_OFF',
    ]);
    expect(follow(START, ...failures, STOP).at(-1)).toBe('DOWN');
  });

  test('in the crash loop is retried after a backoff, and stays in it after one more failure', () => {
    const failures = Array.from({ length: CRASH_LOOP_FAILURES }, () => [BACKOFF_OVER, CRASHED])
      .flat()
      .slice(1);
    const tried = [START, ...failures, BACKOFF_OVER];
    expect(follow(...tried, READY, CLAIMED, CRASHED).slice(-4)).toEqual([
      'STARTING START_PROGRAM',
      'UP',
      'UP',
      'FAILED BACK_OFF',
    ]);
    expect(follow(...tried, CRASHED).at(-1)).toBe('FAILED BACK_OFF');
    expect(follow(...tried, READY, CLAIMED, ENDED, CRASHED).at(-1)).toBe('FAILED BACK_OFF');
    expect(follow(...tried, READY, CLAIMED, RELEASED, CRASHED).at(-1)).toBe('BACKOFF BACK_OFF');
    const afterAMinute: LifecycleEvent = { type: 'ENDED', onPurpose: false, upForMs: 60_000 };
    expect(follow(...tried, READY, afterAMinute).at(-1)).toBe('BACKOFF BACK_OFF');
    expect(follow(START, ...failures, STOP, BACKOFF_OVER).at(-1)).toBe('DOWN');
  });

  test('in the crash loop waits from ten minutes up to an hour', () => {
    const pausesMin = Array.from(
      { length: 6 },
      (_, further) =>
        crashLoopBackoffMs({
          ...NEW_INSTANCE,
          phase: 'FAILED',
          failuresInARow: CRASH_LOOP_FAILURES + further,
        }) / 60_000,
    );
    expect(pausesMin).toEqual([10, 20, 40, 60, 60, 60]);
  });

  test('has one of five statuses, and takes a task only when it is up and idle', () => {
    expect(PHASES.map((phase) => statusOf({ ...NEW_INSTANCE, phase }))).toEqual([
      'DOWN',
      'STARTING',
      'STARTING',
      'UP',
      'STOPPING',
      'STOPPING',
      'FAILED',
    ]);
    const coolingDown = { ...NEW_INSTANCE, phase: 'UP', coolingDown: true } as const;
    expect([statusOf(coolingDown), statusOf({ ...coolingDown, busy: true })]).toEqual(['STARTING', 'UP']);
    for (const phase of PHASES) {
      expect(isIdle({ ...NEW_INSTANCE, phase, coolingDown: true })).toBe(false);
      expect(isIdle({ ...NEW_INSTANCE, phase })).toBe(phase === 'UP');
      expect(isIdle({ ...NEW_INSTANCE, phase, busy: true })).toBe(false);
    }
  });
});

describe('the state machine', () => {
  const EVENTS: Record<Trigger, LifecycleEvent> = {
    start: START,
    stop: STOP,
    restart: RESTART,
    ready: READY,
    claimed: CLAIMED,
    released: RELEASED,
    backoffOver: BACKOFF_OVER,
    failed: CRASHED,
    ended: ENDED,
    endedWithJob: ENDED_WITH_JOB,
    endedTogether: { type: 'ENDED_TOGETHER' },
  };
  const INSTANCES: InstanceLifecycle[] = PHASES.flatMap((phase) =>
    (['DOWN', 'UP', 'RESTART'] as const).flatMap((afterwards) =>
      [false, true].flatMap((busy) =>
        [0, CRASH_LOOP_FAILURES - 1].map((failuresInARow) => ({
          ...NEW_INSTANCE,
          phase,
          afterwards,
          busy,
          failuresInARow,
        })),
      ),
    ),
  );

  test.each(Object.keys(EVENTS) as Trigger[])('has for %s, in any phase, a row or no effect', (trigger) => {
    for (const instance of INSTANCES) {
      const after = advance(instance, EVENTS[trigger]);
      const rows = INSTANCE_TRANSITIONS.filter(
        ({ on, from }) => on === trigger && from.includes(instance.phase),
      );
      const targets = rows.map(({ to, action = 'NOTHING' }) => `${to} ${action}`);
      if (after.known) expect(targets).toContain(`${after.instance.phase} ${after.action}`);
      else expect([after.instance.phase, after.action]).toEqual([instance.phase, 'NOTHING']);
      if (rows.length === 0) expect(after.known).toBe(false);
    }
  });

  test('leads from each state to each other one', () => {
    for (const begin of PHASES) {
      const reached = new Set([begin]);
      for (const _ of PHASES) {
        for (const { from, to } of INSTANCE_TRANSITIONS)
          if (from.some((phase) => reached.has(phase))) reached.add(to);
      }
      expect([...reached].sort()).toEqual([...PHASES].sort());
    }
  });
});
