import { describe, expect, test } from 'vitest';
import {
  advance,
  FAILURES_UNTIL_GIVEN_UP,
  type Happening,
  INSTANCE_LIFE,
  type InstanceLife,
  isIdle,
  type LifeEvent,
  NEW_LIFE,
  PHASES,
  pauseWhenGivenUpMs,
  statusOf,
} from './instance-life.js';

const START: LifeEvent = { type: 'COMMAND', command: 'start' };
const STOP: LifeEvent = { type: 'COMMAND', command: 'stop' };
const RESTART: LifeEvent = { type: 'COMMAND', command: 'restart' };
const READY: LifeEvent = { type: 'READY' };
const CLAIMED: LifeEvent = { type: 'CLAIMED' };
const RELEASED: LifeEvent = { type: 'RELEASED', well: true };
const PAUSE_OVER: LifeEvent = { type: 'PAUSE_OVER' };
const CRASHED: LifeEvent = { type: 'ENDED', onPurpose: false, upForMs: 0 };
const ENDED: LifeEvent = { type: 'ENDED', onPurpose: true, upForMs: 0 };
const SPENT: LifeEvent = { type: 'SPENT', well: true };

/** The phases and steps that a new instance goes through. */
function follow(...events: LifeEvent[]): string[] {
  let life: InstanceLife = NEW_LIFE;
  return events.map((event) => {
    const next = advance(life, event);
    life = next.life;
    return next.step === 'NOTHING' ? life.phase : `${life.phase} ${next.step}`;
  });
}

describe('an instance', () => {
  test('is started and stopped by command', () => {
    expect(follow(START, READY, STOP, ENDED, START)).toEqual([
      'LAUNCHED LAUNCH',
      'UP',
      'ENDING END',
      'DOWN',
      'LAUNCHED LAUNCH',
    ]);
  });

  test('takes a second command of the same kind as nothing', () => {
    expect(follow(STOP, START, START, READY, START, STOP, STOP, ENDED, STOP)).toEqual([
      'DOWN',
      'LAUNCHED LAUNCH',
      'LAUNCHED',
      'UP',
      'UP',
      'ENDING END',
      'ENDING',
      'DOWN',
      'DOWN',
    ]);
  });

  test('is restarted', () => {
    expect(follow(START, READY, RESTART, ENDED, READY)).toEqual([
      'LAUNCHED LAUNCH',
      'UP',
      'ENDING END',
      'LAUNCHED LAUNCH',
      'UP',
    ]);
    expect(follow(RESTART)).toEqual(['LAUNCHED LAUNCH']);
  });

  test('first ends its task', () => {
    expect(follow(START, READY, CLAIMED, STOP, RELEASED, ENDED)).toEqual([
      'LAUNCHED LAUNCH',
      'UP',
      'UP',
      'DRAINING',
      'ENDING END',
      'DOWN',
    ]);
    expect(follow(START, READY, CLAIMED, RESTART, CRASHED)).toEqual([
      'LAUNCHED LAUNCH',
      'UP',
      'UP',
      'DRAINING',
      'LAUNCHED LAUNCH',
    ]);
  });

  test('obeys the last of several commands', () => {
    expect(follow(START, READY, CLAIMED, STOP, START, RELEASED)).toEqual([
      'LAUNCHED LAUNCH',
      'UP',
      'UP',
      'DRAINING',
      'UP',
      'UP',
    ]);
    expect(follow(START, READY, CLAIMED, RESTART, START, RELEASED, ENDED)).toEqual([
      'LAUNCHED LAUNCH',
      'UP',
      'UP',
      'DRAINING',
      'DRAINING',
      'ENDING END',
      'LAUNCHED LAUNCH',
    ]);
    expect(follow(START, READY, STOP, START, ENDED)).toEqual([
      'LAUNCHED LAUNCH',
      'UP',
      'ENDING END',
      'ENDING',
      'LAUNCHED LAUNCH',
    ]);
    expect(follow(START, STOP, RESTART, STOP, ENDED)).toEqual([
      'LAUNCHED LAUNCH',
      'ENDING END',
      'ENDING',
      'ENDING',
      'DOWN',
    ]);
  });

  test('is started again after a pause when it ends by itself', () => {
    expect(follow(START, READY, CRASHED, PAUSE_OVER, READY)).toEqual([
      'LAUNCHED LAUNCH',
      'UP',
      'PAUSING PAUSE',
      'LAUNCHED LAUNCH',
      'UP',
    ]);
    expect(follow(START, CRASHED, STOP, PAUSE_OVER)).toEqual([
      'LAUNCHED LAUNCH',
      'PAUSING PAUSE',
      'DOWN',
      'DOWN',
    ]);
    expect(follow(START, CRASHED, RESTART)).toEqual(['LAUNCHED LAUNCH', 'PAUSING PAUSE', 'LAUNCHED LAUNCH']);
  });

  test('is started again at once when the agent killed it', () => {
    expect(follow(START, READY, CLAIMED, ENDED)).toEqual(['LAUNCHED LAUNCH', 'UP', 'UP', 'LAUNCHED LAUNCH']);
  });

  test('in a sandbox has another program for each job', () => {
    expect(follow(START, READY, CLAIMED, SPENT, RELEASED, READY, CLAIMED)).toEqual([
      'LAUNCHED LAUNCH',
      'UP',
      'UP',
      'LAUNCHED LAUNCH',
      'LAUNCHED',
      'UP',
      'UP',
    ]);
    expect(follow(START, READY, CLAIMED, STOP, SPENT).slice(-2)).toEqual(['DRAINING', 'DOWN']);
    expect(follow(START, READY, CLAIMED, STOP, RELEASED, SPENT).slice(-2)).toEqual(['ENDING END', 'DOWN']);
    expect(follow(START, READY, CLAIMED, RESTART, SPENT).at(-1)).toBe('LAUNCHED LAUNCH');
  });

  test('in a sandbox has no failure counted once a job was worked on to its end', () => {
    const failures = Array.from({ length: FAILURES_UNTIL_GIVEN_UP - 1 }, () => [CRASHED, PAUSE_OVER]).flat();
    const tried = [START, ...failures, READY, CLAIMED];
    expect(follow(...tried, SPENT, CRASHED).at(-1)).toBe('PAUSING PAUSE');
    expect(follow(...tried, { type: 'SPENT', well: false }, CRASHED).at(-1)).toBe('FAILED PAUSE');
  });

  test('is given up after too many failures in a row, and by no count of others', () => {
    const failures = Array.from({ length: FAILURES_UNTIL_GIVEN_UP }, () => [PAUSE_OVER, CRASHED])
      .flat()
      .slice(1);
    expect(follow(START, ...failures).at(-1)).toBe('FAILED PAUSE');
    expect(follow(START, ...failures.slice(0, -1), READY, CLAIMED, RELEASED, CRASHED).at(-1)).toBe(
      'PAUSING PAUSE',
    );
    const afterAnHour: LifeEvent = { type: 'ENDED', onPurpose: false, upForMs: 3_600_000 };
    expect(follow(START, ...failures.slice(0, -1), READY, afterAnHour).at(-1)).toBe('PAUSING PAUSE');
    expect(follow(START, ...failures, START, CRASHED).slice(-2)).toEqual([
      'LAUNCHED LAUNCH',
      'PAUSING PAUSE',
    ]);
    expect(follow(START, ...failures, STOP).at(-1)).toBe('DOWN');
  });

  test('that was given up is tried again after a pause, and one more failure is enough', () => {
    const failures = Array.from({ length: FAILURES_UNTIL_GIVEN_UP }, () => [PAUSE_OVER, CRASHED])
      .flat()
      .slice(1);
    const tried = [START, ...failures, PAUSE_OVER];
    expect(follow(...tried, READY, CLAIMED, CRASHED).slice(-4)).toEqual([
      'LAUNCHED LAUNCH',
      'UP',
      'UP',
      'FAILED PAUSE',
    ]);
    expect(follow(...tried, CRASHED).at(-1)).toBe('FAILED PAUSE');
    expect(follow(...tried, READY, CLAIMED, ENDED, CRASHED).at(-1)).toBe('FAILED PAUSE');
    expect(follow(...tried, READY, CLAIMED, RELEASED, CRASHED).at(-1)).toBe('PAUSING PAUSE');
    const afterAMinute: LifeEvent = { type: 'ENDED', onPurpose: false, upForMs: 60_000 };
    expect(follow(...tried, READY, afterAMinute).at(-1)).toBe('PAUSING PAUSE');
    expect(follow(START, ...failures, STOP, PAUSE_OVER).at(-1)).toBe('DOWN');
  });

  test('that is given up again and again waits from ten minutes up to an hour', () => {
    const pausesMin = Array.from(
      { length: 6 },
      (_, further) =>
        pauseWhenGivenUpMs({
          ...NEW_LIFE,
          phase: 'FAILED',
          failuresInARow: FAILURES_UNTIL_GIVEN_UP + further,
        }) / 60_000,
    );
    expect(pausesMin).toEqual([10, 20, 40, 60, 60, 60]);
  });

  test('is shown by five statuses and takes a task only when it is up and idle', () => {
    expect(PHASES.map((phase) => statusOf({ ...NEW_LIFE, phase }))).toEqual([
      'DOWN',
      'STARTING',
      'STARTING',
      'UP',
      'STOPPING',
      'STOPPING',
      'FAILED',
    ]);
    const resting = { ...NEW_LIFE, phase: 'UP', resting: true } as const;
    expect([statusOf(resting), statusOf({ ...resting, busy: true })]).toEqual(['STARTING', 'UP']);
    for (const phase of PHASES) {
      expect(isIdle({ ...NEW_LIFE, phase, resting: true })).toBe(false);
      expect(isIdle({ ...NEW_LIFE, phase })).toBe(phase === 'UP');
      expect(isIdle({ ...NEW_LIFE, phase, busy: true })).toBe(false);
    }
  });
});

describe('the table', () => {
  const EVENTS: Record<Happening, LifeEvent> = {
    start: START,
    stop: STOP,
    restart: RESTART,
    ready: READY,
    claimed: CLAIMED,
    released: RELEASED,
    pauseOver: PAUSE_OVER,
    failed: CRASHED,
    ended: ENDED,
    spent: SPENT,
  };
  const LIVES: InstanceLife[] = PHASES.flatMap((phase) =>
    (['DOWN', 'UP', 'RESTART'] as const).flatMap((afterwards) =>
      [false, true].flatMap((busy) =>
        [0, FAILURES_UNTIL_GIVEN_UP - 1].map((failuresInARow) => ({
          ...NEW_LIFE,
          phase,
          afterwards,
          busy,
          failuresInARow,
        })),
      ),
    ),
  );

  test.each(Object.keys(EVENTS) as Happening[])('%s: in any phase, a row of it or nothing', (happening) => {
    for (const life of LIVES) {
      const after = advance(life, EVENTS[happening]);
      const rows = INSTANCE_LIFE.filter(({ on, from }) => on === happening && from.includes(life.phase));
      const targets = rows.map(({ to, step = 'NOTHING' }) => `${to} ${step}`);
      if (after.known) expect(targets).toContain(`${after.life.phase} ${after.step}`);
      else expect([after.life.phase, after.step]).toEqual([life.phase, 'NOTHING']);
      if (rows.length === 0) expect(after.known).toBe(false);
    }
  });

  test('leads from everywhere to everywhere', () => {
    for (const begin of PHASES) {
      const reached = new Set([begin]);
      for (const _ of PHASES) {
        for (const { from, to } of INSTANCE_LIFE)
          if (from.some((phase) => reached.has(phase))) reached.add(to);
      }
      expect([...reached].sort()).toEqual([...PHASES].sort());
    }
  });
});
