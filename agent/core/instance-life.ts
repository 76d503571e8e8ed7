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
 *   FAILED     FAILED    stopped by itself too often and given up: waits for a command, or for a try after a long pause
 *
 * Of several commands the last one holds. In any phase an instance may have to rest, because its host is at fault: UP is
 * shown as STARTING then, unless it works on a task.
 */
import type { InstanceCommand, ReportedInstanceStatus } from '@workbench-hub/shared/domain/instance';

export const PHASES = ['DOWN', 'LAUNCHED', 'PAUSING', 'UP', 'DRAINING', 'ENDING', 'FAILED'] as const;
export type Phase = (typeof PHASES)[number];

/** What may happen to an instance. */
export type Happening =
  | InstanceCommand
  | 'ready'
  | 'claimed'
  | 'released'
  | 'pauseOver'
  /** Its process has ended by itself or by a failure, or because the agent ended it. */
  | 'failed'
  | 'ended'
  /** Its process was ended with its only job, as in a sandbox. */
  | 'spent';

/** What must hold besides for a step of the table. */
const CONDITIONS = {
  working: ({ busy }: InstanceLife) => busy,
  idle: ({ busy }: InstanceLife) => !busy,
  'to stay down': ({ afterwards }: InstanceLife) => afterwards === 'DOWN',
  'to run again': ({ afterwards }: InstanceLife) => afterwards !== 'DOWN',
  'no restart asked for': ({ afterwards }: InstanceLife) => afterwards !== 'RESTART',
  'failed too often': ({ failuresInARow }: InstanceLife) => failuresInARow >= FAILURES_UNTIL_GIVEN_UP,
  'failures left': ({ failuresInARow }: InstanceLife) => failuresInARow < FAILURES_UNTIL_GIVEN_UP,
} as const;

interface InstanceStep {
  readonly on: Happening;
  readonly from: readonly Phase[];
  readonly when?: keyof typeof CONDITIONS;
  readonly to: Phase;
  readonly step?: LifeStep;
  /** What is to become of it once it has ended. */
  readonly next?: InstanceLife['afterwards'];
  /** Failures from before do not count any more. */
  readonly fresh?: true;
}

const NOT_RUNNING = ['DOWN', 'FAILED', 'PAUSING'] as const;

/** All that changes an instance's phase, or what is to become of it. What is not here changes nothing. */
export const INSTANCE_LIFE: readonly InstanceStep[] = [
  { on: 'start', from: NOT_RUNNING, to: 'LAUNCHED', step: 'LAUNCH', fresh: true },
  { on: 'start', from: ['DRAINING'], when: 'no restart asked for', to: 'UP' },
  { on: 'start', from: ['ENDING'], to: 'ENDING', next: 'UP' },

  { on: 'stop', from: NOT_RUNNING, to: 'DOWN', fresh: true },
  { on: 'stop', from: ['UP'], when: 'working', to: 'DRAINING', next: 'DOWN' },
  { on: 'stop', from: ['LAUNCHED', 'UP'], when: 'idle', to: 'ENDING', step: 'END', next: 'DOWN' },
  { on: 'stop', from: ['DRAINING'], to: 'DRAINING', next: 'DOWN' },
  { on: 'stop', from: ['ENDING'], to: 'ENDING', next: 'DOWN' },

  { on: 'restart', from: NOT_RUNNING, to: 'LAUNCHED', step: 'LAUNCH', fresh: true },
  { on: 'restart', from: ['UP'], when: 'working', to: 'DRAINING', next: 'RESTART' },
  { on: 'restart', from: ['LAUNCHED', 'UP'], when: 'idle', to: 'ENDING', step: 'END', next: 'RESTART' },
  { on: 'restart', from: ['DRAINING'], to: 'DRAINING', next: 'RESTART' },
  { on: 'restart', from: ['ENDING'], to: 'ENDING', next: 'RESTART' },

  { on: 'ready', from: ['LAUNCHED'], to: 'UP' },
  { on: 'claimed', from: ['UP'], when: 'idle', to: 'UP' },
  { on: 'released', from: ['UP'], to: 'UP' },
  { on: 'released', from: ['DRAINING'], to: 'ENDING', step: 'END' },
  { on: 'pauseOver', from: ['PAUSING', 'FAILED'], to: 'LAUNCHED', step: 'LAUNCH' },

  { on: 'failed', from: ['LAUNCHED', 'UP'], when: 'failures left', to: 'PAUSING', step: 'PAUSE' },
  { on: 'failed', from: ['LAUNCHED', 'UP'], when: 'failed too often', to: 'FAILED', step: 'PAUSE' },
  { on: 'failed', from: ['DRAINING', 'ENDING'], when: 'to stay down', to: 'DOWN' },
  {
    on: 'failed',
    from: ['DRAINING', 'ENDING'],
    when: 'to run again',
    to: 'LAUNCHED',
    step: 'LAUNCH',
    fresh: true,
  },

  { on: 'ended', from: ['LAUNCHED', 'UP'], to: 'LAUNCHED', step: 'LAUNCH' },
  { on: 'ended', from: ['DRAINING', 'ENDING'], when: 'to stay down', to: 'DOWN' },
  {
    on: 'ended',
    from: ['DRAINING', 'ENDING'],
    when: 'to run again',
    to: 'LAUNCHED',
    step: 'LAUNCH',
    fresh: true,
  },

  { on: 'spent', from: ['UP'], to: 'LAUNCHED', step: 'LAUNCH' },
  { on: 'spent', from: ['DRAINING', 'ENDING'], when: 'to stay down', to: 'DOWN' },
  {
    on: 'spent',
    from: ['DRAINING', 'ENDING'],
    when: 'to run again',
    to: 'LAUNCHED',
    step: 'LAUNCH',
    fresh: true,
  },
];

/** The table by what happens. */
const STEPS_ON: ReadonlyMap<Happening, readonly InstanceStep[]> = new Map(
  INSTANCE_LIFE.map(({ on }) => [on, INSTANCE_LIFE.filter((step) => step.on === on)]),
);

/** Who or what makes it happen, in words. */
export const HAPPENS_BY: Readonly<Record<Happening, string>> = {
  start: 'operator, or start of the agent (autostart)',
  stop: 'operator, or stop of the agent',
  restart: 'operator',
  ready: 'program: its answer to `initialize`',
  claimed: 'agent: a task begins',
  released: 'agent: the task has ended',
  pauseOver: 'agent: the pause after a failure is over; ten minutes to an hour after too many in a row',
  failed: 'program: it ended by itself, broke the protocol, or was killed for a fault of its own',
  ended: 'agent: it killed the program to end a canceled job',
  spent: 'agent: it ended the sandbox of a batch job, with the program in it, before it collects the outputs',
};

/** After so many failures in a row an instance is given up. */
export const FAILURES_UNTIL_GIVEN_UP = 5;

/** The pause of an instance that was given up, before it is tried again by itself. */
const FIRST_PAUSE_WHEN_GIVEN_UP_MS = 600_000;
const LONGEST_PAUSE_WHEN_GIVEN_UP_MS = 3_600_000;

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

/** What may change the phase, or what is known besides of an instance in some phase. */
type PhaseEvent =
  | { readonly type: 'COMMAND'; readonly command: InstanceCommand }
  | { readonly type: 'READY' }
  | { readonly type: 'CLAIMED' }
  /** `well`: the task was worked on to its end, so that the program is known to be in order. */
  | { readonly type: 'RELEASED'; readonly well: boolean }
  | { readonly type: 'PAUSE_OVER' }
  /** The process and all that it started are gone. SPENT: ended by the agent with its only job, which it worked on to the
   *  end if `well`. `onPurpose`: ended by the agent, not by itself or a failure. */
  | { readonly type: 'SPENT'; readonly well: boolean }
  | { readonly type: 'ENDED'; readonly onPurpose: boolean; readonly upForMs: number };

export type LifeEvent = PhaseEvent | { readonly type: 'REST' } | { readonly type: 'REST_OVER' };

/** What is to be done because of an event. PAUSE: wait, then report PAUSE_OVER; when it was given up, as long as
 *  {@link pauseWhenGivenUpMs} says. END: end the process. */
export type LifeStep = 'LAUNCH' | 'PAUSE' | 'END' | 'NOTHING';

export interface Advance {
  readonly life: InstanceLife;
  readonly step: LifeStep;
  /** False when the table has nothing for it: no phase changes. */
  readonly known: boolean;
}

export function advance(life: InstanceLife, event: LifeEvent): Advance {
  if (event.type === 'REST' || event.type === 'REST_OVER') {
    return { life: { ...life, resting: event.type === 'REST' }, step: 'NOTHING', known: true };
  }
  const found = STEPS_ON.get(happeningOf(event))?.find(
    ({ from, when }) =>
      from.includes(life.phase) && (when === undefined || CONDITIONS[when](counted(life, event))),
  );
  const noted = note(life, event, found !== undefined);
  if (!found) return { life: noted, step: 'NOTHING', known: false };
  const next: InstanceLife = {
    phase: found.to,
    busy: noted.busy,
    resting: noted.resting,
    afterwards: found.next ?? noted.afterwards,
    failuresInARow: found.fresh ? 0 : noted.failuresInARow,
  };
  return { life: next, step: found.step ?? 'NOTHING', known: true };
}

function happeningOf(event: PhaseEvent): Happening {
  switch (event.type) {
    case 'COMMAND':
      return event.command;
    case 'READY':
      return 'ready';
    case 'CLAIMED':
      return 'claimed';
    case 'RELEASED':
      return 'released';
    case 'PAUSE_OVER':
      return 'pauseOver';
    case 'ENDED':
      return event.onPurpose ? 'ended' : 'failed';
    case 'SPENT':
      return 'spent';
  }
}

/** With this failure, if it is one, among its failures. */
function counted(life: InstanceLife, event: PhaseEvent): InstanceLife {
  if (event.type !== 'ENDED' || event.onPurpose || (life.phase !== 'LAUNCHED' && life.phase !== 'UP'))
    return life;
  return { ...life, failuresInARow: (event.upForMs >= STEADY_AFTER_MS ? 0 : life.failuresInARow) + 1 };
}

/** What changes besides the phase. */
function note(life: InstanceLife, event: PhaseEvent, known: boolean): InstanceLife {
  switch (event.type) {
    case 'CLAIMED':
      return known ? { ...life, busy: true } : life;
    case 'RELEASED':
    case 'SPENT':
      return { ...life, busy: false, failuresInARow: event.well ? 0 : life.failuresInARow };
    case 'ENDED':
      return { ...counted(life, event), busy: false };
    default:
      return life;
  }
}

/** How long an instance that was given up waits for its next try: twice as long after each further failure. */
export function pauseWhenGivenUpMs({ failuresInARow }: InstanceLife): number {
  const furtherFailures = failuresInARow - FAILURES_UNTIL_GIVEN_UP;
  return Math.min(FIRST_PAUSE_WHEN_GIVEN_UP_MS * 2 ** furtherFailures, LONGEST_PAUSE_WHEN_GIVEN_UP_MS);
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
