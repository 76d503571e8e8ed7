/**
 * The life of one workbench instance, as a table. A phase is finer than the status that is shown:
 *
 *   phase      status    meaning
 *   DOWN       DOWN      stopped, or never started
 *   LAUNCHED   STARTING  the process runs and has not answered `initialize`
 *   PAUSING    STARTING  waits for the next try after a failure
 *   UP         UP        ready for a task, or working on one
 *   DRAINING   STOPPING  is to be stopped and still works on its task
 *   ENDING     STOPPING  the process is being ended
 *   FAILED     FAILED    stopped by itself too often and given up
 *
 *              start      stop        restart     READY  ENDED (failure)   ENDED (on purpose)  RELEASED
 *   DOWN       LAUNCHED   .           LAUNCHED    .      .                 .                   .
 *   FAILED     LAUNCHED   DOWN        LAUNCHED    .      .                 .                   .
 *   PAUSING    LAUNCHED   DOWN        LAUNCHED    .      .                 .                   .
 *   LAUNCHED   .          ENDING      ENDING >    UP     PAUSING | FAILED  LAUNCHED            .
 *   UP         .          ENDING *    ENDING * >  .      PAUSING | FAILED  LAUNCHED            .
 *   DRAINING   UP **      DRAINING    DRAINING >  .      as ENDING         as ENDING           ENDING
 *   ENDING     ENDING >   ENDING      ENDING >    .      DOWN, or          DOWN, or            .
 *                                                        LAUNCHED with >   LAUNCHED with >
 *
 *   `.` nothing changes; `>` the instance is started again afterwards; `*` DRAINING while it works on a task;
 *   `**` unless a restart was asked for before, which a start does not take back.
 *
 * PAUSING becomes LAUNCHED when the pause is over. Of several commands the last one holds. In any phase an instance may
 * have to rest, because its host is at fault: UP is shown as STARTING then, unless it works on a task.
 */
import type { InstanceCommand, ReportedInstanceStatus } from '@workbench-hub/shared/domain/instance';

export const PHASES = ['DOWN', 'LAUNCHED', 'PAUSING', 'UP', 'DRAINING', 'ENDING', 'FAILED'] as const;
export type Phase = (typeof PHASES)[number];

/** After so many failures in a row an instance is given up. */
export const FAILURES_UNTIL_GIVEN_UP = 5;

/** An instance that was up for so long had no failed start: the count begins again. */
const STEADY_AFTER_MS = 60_000;

export interface InstanceLife {
  readonly phase: Phase;
  /** It works on a task. */
  readonly busy: boolean;
  /** Its host is at fault: it takes no task, and is not shown as UP, while it has none. */
  readonly resting: boolean;
  /** Whether it is started again once it has ended (DRAINING and ENDING only). */
  readonly afterwards: 'DOWN' | 'UP' | 'RESTART';
  readonly failuresInARow: number;
}

export const NEW_LIFE: InstanceLife = {
  phase: 'DOWN',
  busy: false,
  resting: false,
  afterwards: 'DOWN',
  failuresInARow: 0,
};

export type LifeEvent =
  | { readonly type: 'COMMAND'; readonly command: InstanceCommand }
  | { readonly type: 'READY' }
  | { readonly type: 'CLAIMED' }
  /** `well`: the task was worked on to its end, so that the program is known to be in order. */
  | { readonly type: 'RELEASED'; readonly well: boolean }
  | { readonly type: 'PAUSE_OVER' }
  | { readonly type: 'REST' }
  | { readonly type: 'REST_OVER' }
  /** The process and all that it started are gone. `onPurpose`: ended by the agent, not by itself or a failure. */
  | { readonly type: 'ENDED'; readonly onPurpose: boolean; readonly upForMs: number };

/** What is to be done because of an event. PAUSE: wait, then report PAUSE_OVER. END: end the process. */
export type LifeStep = 'LAUNCH' | 'PAUSE' | 'END' | 'NOTHING';

export interface Advance {
  readonly life: InstanceLife;
  readonly step: LifeStep;
}

export function advance(life: InstanceLife, event: LifeEvent): Advance {
  switch (event.type) {
    case 'COMMAND':
      return obey(life, event.command);
    case 'READY':
      return life.phase === 'LAUNCHED' ? become(life, { phase: 'UP' }) : stay(life);
    case 'CLAIMED':
      return become(life, { busy: true });
    case 'RELEASED': {
      const failuresInARow = event.well ? 0 : life.failuresInARow;
      const released = { ...life, busy: false, failuresInARow };
      return life.phase === 'DRAINING' ? become(released, { phase: 'ENDING' }, 'END') : stay(released);
    }
    case 'PAUSE_OVER':
      return life.phase === 'PAUSING' ? become(life, { phase: 'LAUNCHED' }, 'LAUNCH') : stay(life);
    case 'REST':
      return become(life, { resting: true });
    case 'REST_OVER':
      return become(life, { resting: false });
    case 'ENDED':
      return end({ ...life, busy: false }, event.onPurpose, event.upForMs);
  }
}

/** The status to show. */
export function statusOf({ phase, busy, resting }: InstanceLife): ReportedInstanceStatus {
  return phase === 'UP' && resting && !busy ? 'STARTING' : STATUS[phase];
}

/** True when a task may be given to it. */
export function isIdle(life: InstanceLife): boolean {
  return life.phase === 'UP' && !life.busy && !life.resting;
}

const STATUS: Readonly<Record<Phase, ReportedInstanceStatus>> = {
  DOWN: 'DOWN',
  LAUNCHED: 'STARTING',
  PAUSING: 'STARTING',
  UP: 'UP',
  DRAINING: 'STOPPING',
  ENDING: 'STOPPING',
  FAILED: 'FAILED',
};

function obey(life: InstanceLife, command: InstanceCommand): Advance {
  const afterwards = command === 'stop' ? 'DOWN' : command === 'restart' ? 'RESTART' : 'UP';
  switch (life.phase) {
    case 'DOWN':
    case 'FAILED':
    case 'PAUSING':
      if (command === 'stop') return become(life, { phase: 'DOWN', failuresInARow: 0 });
      return become(life, { phase: 'LAUNCHED', failuresInARow: 0 }, 'LAUNCH');
    case 'LAUNCHED':
    case 'UP':
      if (command === 'start') return stay(life);
      if (life.busy) return become(life, { phase: 'DRAINING', afterwards });
      return become(life, { phase: 'ENDING', afterwards }, 'END');
    case 'DRAINING':
      if (command === 'start')
        return life.afterwards === 'RESTART' ? stay(life) : become(life, { phase: 'UP' });
      return become(life, { afterwards });
    case 'ENDING':
      return become(life, { afterwards });
  }
}

function end(life: InstanceLife, onPurpose: boolean, upForMs: number): Advance {
  if (life.phase === 'DRAINING' || life.phase === 'ENDING') {
    if (life.afterwards === 'DOWN') return become(life, { phase: 'DOWN' });
    return become(life, { phase: 'LAUNCHED', failuresInARow: 0 }, 'LAUNCH');
  }
  if (life.phase !== 'LAUNCHED' && life.phase !== 'UP') return stay(life);
  if (onPurpose) return become(life, { phase: 'LAUNCHED' }, 'LAUNCH');
  const failuresInARow = (upForMs >= STEADY_AFTER_MS ? 0 : life.failuresInARow) + 1;
  if (failuresInARow >= FAILURES_UNTIL_GIVEN_UP) return become(life, { phase: 'FAILED', failuresInARow });
  return become(life, { phase: 'PAUSING', failuresInARow }, 'PAUSE');
}

function become(life: InstanceLife, change: Partial<InstanceLife>, step: LifeStep = 'NOTHING'): Advance {
  return { life: { ...life, ...change }, step };
}

function stay(life: InstanceLife): Advance {
  return { life, step: 'NOTHING' };
}
