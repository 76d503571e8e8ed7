/**
 * States of a workbench instance. A phase is finer than the status that is shown:
 *
 *   phase      status    meaning
 *   DOWN       DOWN      stopped, or never started
 *   STARTING   STARTING  the program runs and has not answered `initialize`
 *   BACKOFF    STARTING  waits for the next start after a failure
 *   UP         UP        ready, or working
 *   DRAINING   STOPPING  will stop when its task has ended
 *   STOPPING   STOPPING  the program is being ended
 *   FAILED     FAILED    in a crash loop: waits for a command, or for a rare retry
 *
 * The latest of several commands wins. During a cooldown after a host fault, UP is shown as STARTING unless the instance
 * works on a task.
 */
import type { InstanceCommand, ReportedInstanceStatus } from '@workbench-hub/shared/domain/instance';

export const PHASES = ['DOWN', 'STARTING', 'BACKOFF', 'UP', 'DRAINING', 'STOPPING', 'FAILED'] as const;
export type Phase = (typeof PHASES)[number];

/** Events that can cause a transition. */
export type Trigger =
  | InstanceCommand
  | 'ready'
  | 'claimed'
  | 'released'
  | 'backoffOver'
  /** The process ended by itself or failed. */
  | 'failed'
  /** The agent ended the process. */
  | 'ended'
  /** The process ended with its only job, as in a sandbox. */
  | 'endedWithJob'
  /** The common process ended by itself or failed, perhaps because of another instance. */
  | 'endedTogether';

/** Conditions that a transition may require. */
const CONDITIONS = {
  working: ({ busy }: InstanceLifecycle) => busy,
  idle: ({ busy }: InstanceLifecycle) => !busy,
  'to stay down': ({ afterwards }: InstanceLifecycle) => afterwards === 'DOWN',
  'to run again': ({ afterwards }: InstanceLifecycle) => afterwards !== 'DOWN',
  'no restart asked for': ({ afterwards }: InstanceLifecycle) => afterwards !== 'RESTART',
  'crash loop': ({ failuresInARow }: InstanceLifecycle) => failuresInARow >= CRASH_LOOP_FAILURES,
  'failures left': ({ failuresInARow }: InstanceLifecycle) => failuresInARow < CRASH_LOOP_FAILURES,
} as const;

interface InstanceTransition {
  readonly on: Trigger;
  readonly from: readonly Phase[];
  readonly when?: keyof typeof CONDITIONS;
  readonly to: Phase;
  readonly action?: LifecycleAction;
  /** State to reach once the process has ended. */
  readonly next?: InstanceLifecycle['afterwards'];
  /** Resets the count of failures. */
  readonly fresh?: true;
}

const NOT_RUNNING = ['DOWN', 'FAILED', 'BACKOFF'] as const;

/** All transitions of an instance. An event without a matching row changes nothing. */
export const INSTANCE_TRANSITIONS: readonly InstanceTransition[] = [
  { on: 'start', from: NOT_RUNNING, to: 'STARTING', action: 'START_PROGRAM', fresh: true },
  { on: 'start', from: ['DRAINING'], when: 'no restart asked for', to: 'UP' },
  { on: 'start', from: ['STOPPING'], to: 'STOPPING', next: 'UP' },

  { on: 'stop', from: NOT_RUNNING, to: 'DOWN', fresh: true },
  { on: 'stop', from: ['UP'], when: 'working', to: 'DRAINING', next: 'DOWN' },
  {
    on: 'stop',
    from: ['STARTING', 'UP'],
    when: 'idle',
    to: 'STOPPING',
    action: 'STOP_PROGRAM',
    next: 'DOWN',
  },
  { on: 'stop', from: ['DRAINING'], to: 'DRAINING', next: 'DOWN' },
  { on: 'stop', from: ['STOPPING'], to: 'STOPPING', next: 'DOWN' },

  { on: 'restart', from: NOT_RUNNING, to: 'STARTING', action: 'START_PROGRAM', fresh: true },
  { on: 'restart', from: ['UP'], when: 'working', to: 'DRAINING', next: 'RESTART' },
  {
    on: 'restart',
    from: ['STARTING', 'UP'],
    when: 'idle',
    to: 'STOPPING',
    action: 'STOP_PROGRAM',
    next: 'RESTART',
  },
  { on: 'restart', from: ['DRAINING'], to: 'DRAINING', next: 'RESTART' },
  { on: 'restart', from: ['STOPPING'], to: 'STOPPING', next: 'RESTART' },

  { on: 'ready', from: ['STARTING'], to: 'UP' },
  { on: 'claimed', from: ['UP'], when: 'idle', to: 'UP' },
  { on: 'released', from: ['UP'], to: 'UP' },
  { on: 'released', from: ['DRAINING'], to: 'STOPPING', action: 'STOP_PROGRAM' },
  { on: 'backoffOver', from: ['BACKOFF', 'FAILED'], to: 'STARTING', action: 'START_PROGRAM' },

  { on: 'failed', from: ['STARTING', 'UP'], when: 'failures left', to: 'BACKOFF', action: 'BACK_OFF' },
  { on: 'failed', from: ['STARTING', 'UP'], when: 'crash loop', to: 'FAILED', action: 'BACK_OFF' },
  { on: 'failed', from: ['DRAINING', 'STOPPING'], when: 'to stay down', to: 'DOWN' },
  {
    on: 'failed',
    from: ['DRAINING', 'STOPPING'],
    when: 'to run again',
    to: 'STARTING',
    action: 'START_PROGRAM',
    fresh: true,
  },

  { on: 'ended', from: ['STARTING', 'UP'], to: 'STARTING', action: 'START_PROGRAM' },
  { on: 'ended', from: ['DRAINING', 'STOPPING'], when: 'to stay down', to: 'DOWN' },
  {
    on: 'ended',
    from: ['DRAINING', 'STOPPING'],
    when: 'to run again',
    to: 'STARTING',
    action: 'START_PROGRAM',
    fresh: true,
  },

  { on: 'endedWithJob', from: ['UP'], to: 'STARTING', action: 'START_PROGRAM' },
  { on: 'endedWithJob', from: ['DRAINING', 'STOPPING'], when: 'to stay down', to: 'DOWN' },
  {
    on: 'endedWithJob',
    from: ['DRAINING', 'STOPPING'],
    when: 'to run again',
    to: 'STARTING',
    action: 'START_PROGRAM',
    fresh: true,
  },

  { on: 'endedTogether', from: ['STARTING', 'UP'], to: 'STARTING', action: 'START_PROGRAM' },
  { on: 'endedTogether', from: ['DRAINING', 'STOPPING'], when: 'to stay down', to: 'DOWN' },
  {
    on: 'endedTogether',
    from: ['DRAINING', 'STOPPING'],
    when: 'to run again',
    to: 'STARTING',
    action: 'START_PROGRAM',
    fresh: true,
  },
];

/** The table by trigger. */
const TRANSITIONS_ON: ReadonlyMap<Trigger, readonly InstanceTransition[]> = new Map(
  INSTANCE_TRANSITIONS.map(({ on }) => [
    on,
    INSTANCE_TRANSITIONS.filter((transition) => transition.on === on),
  ]),
);

/** Cause of each trigger, as text for the documentation. */
export const TRIGGERED_BY: Readonly<Record<Trigger, string>> = {
  start: 'operator, or start of the agent (autostart)',
  stop: 'operator, or stop of the agent',
  restart: 'operator',
  ready: 'program: its answer to `initialize`',
  claimed: 'agent: a task begins',
  released: 'agent: the task has ended',
  backoffOver: 'agent: the backoff after a failure is over; ten minutes to an hour in a crash loop',
  failed: 'program: it ended by itself, broke the protocol, or was killed for a fault of its own',
  ended:
    'agent: it killed the program to end a canceled job, also that of another instance in the same process',
  endedWithJob:
    'agent: it ended the sandbox of a batch job, with the program in it, before it collects the outputs',
  endedTogether:
    'program: the process that serves several instances failed while another of them worked; which one caused that is unknown',
};

/** Consecutive failures that make a crash loop. */
export const CRASH_LOOP_FAILURES = 5;

/** Backoff of an instance in a crash loop. */
const FIRST_CRASH_LOOP_BACKOFF_MS = 600_000;
const MAX_CRASH_LOOP_BACKOFF_MS = 3_600_000;

/** Uptime after which a failure counts as the first one again. */
const STEADY_AFTER_MS = 60_000;

export interface InstanceLifecycle {
  readonly phase: Phase;
  /** True while it works on a task. */
  readonly busy: boolean;
  /** True after a host fault: it takes no task. */
  readonly coolingDown: boolean;
  /** State to reach once the process has ended (DRAINING and STOPPING only). */
  readonly afterwards: 'DOWN' | 'UP' | 'RESTART';
  readonly failuresInARow: number;
}

export const NEW_INSTANCE: InstanceLifecycle = {
  phase: 'DOWN',
  busy: false,
  coolingDown: false,
  afterwards: 'DOWN',
  failuresInARow: 0,
};

/** Events that concern the phase. */
type PhaseEvent =
  | { readonly type: 'COMMAND'; readonly command: InstanceCommand }
  | { readonly type: 'READY' }
  | { readonly type: 'CLAIMED' }
  /** `completed`: the task ran to its end, so the program is known to be healthy. */
  | { readonly type: 'RELEASED'; readonly completed: boolean }
  | { readonly type: 'BACKOFF_OVER' }
  /** The process and its descendants are gone. ENDED_TOGETHER: a common process, perhaps because of another instance. ENDED_WITH_JOB: the agent ended it with its only job, which ran to its end if
   *  `completed`. `onPurpose`: ended by the agent, not by itself or a failure. */
  | { readonly type: 'ENDED_WITH_JOB'; readonly completed: boolean }
  | { readonly type: 'ENDED_TOGETHER' }
  | { readonly type: 'ENDED'; readonly onPurpose: boolean; readonly upForMs: number };

export type LifecycleEvent = PhaseEvent | { readonly type: 'COOLDOWN' } | { readonly type: 'COOLDOWN_OVER' };

/** Action that an event requires. BACK_OFF: wait, then report BACKOFF_OVER; in a crash loop, wait for
 *  {@link crashLoopBackoffMs}. */
export type LifecycleAction = 'START_PROGRAM' | 'BACK_OFF' | 'STOP_PROGRAM' | 'NOTHING';

/** Result of {@link advance}. */
export interface Advance {
  readonly instance: InstanceLifecycle;
  readonly action: LifecycleAction;
  /** False when no row of the table matches: the phase is unchanged. */
  readonly known: boolean;
}

/** The instance after the event, and the action for the agent. An event that no row of the table names changes no phase. */
export function advance(instance: InstanceLifecycle, event: LifecycleEvent): Advance {
  if (event.type === 'COOLDOWN' || event.type === 'COOLDOWN_OVER') {
    return {
      instance: { ...instance, coolingDown: event.type === 'COOLDOWN' },
      action: 'NOTHING',
      known: true,
    };
  }
  const found = TRANSITIONS_ON.get(triggerOf(event))?.find(
    ({ from, when }) =>
      from.includes(instance.phase) && (when === undefined || CONDITIONS[when](counted(instance, event))),
  );
  const noted = note(instance, event, found !== undefined);
  if (!found) return { instance: noted, action: 'NOTHING', known: false };
  const next: InstanceLifecycle = {
    phase: found.to,
    busy: noted.busy,
    coolingDown: noted.coolingDown,
    afterwards: found.next ?? noted.afterwards,
    failuresInARow: found.fresh ? 0 : noted.failuresInARow,
  };
  return { instance: next, action: found.action ?? 'NOTHING', known: true };
}

function triggerOf(event: PhaseEvent): Trigger {
  switch (event.type) {
    case 'COMMAND':
      return event.command;
    case 'READY':
      return 'ready';
    case 'CLAIMED':
      return 'claimed';
    case 'RELEASED':
      return 'released';
    case 'BACKOFF_OVER':
      return 'backoffOver';
    case 'ENDED':
      return event.onPurpose ? 'ended' : 'failed';
    case 'ENDED_WITH_JOB':
      return 'endedWithJob';
    case 'ENDED_TOGETHER':
      return 'endedTogether';
  }
}

/** The instance with this failure counted, if it is one. */
function counted(instance: InstanceLifecycle, event: PhaseEvent): InstanceLifecycle {
  if (event.type !== 'ENDED' || event.onPurpose || (instance.phase !== 'STARTING' && instance.phase !== 'UP'))
    return instance;
  return {
    ...instance,
    failuresInARow: (event.upForMs >= STEADY_AFTER_MS ? 0 : instance.failuresInARow) + 1,
  };
}

/** The instance with all changes but that of the phase. */
function note(instance: InstanceLifecycle, event: PhaseEvent, known: boolean): InstanceLifecycle {
  switch (event.type) {
    case 'CLAIMED':
      return known ? { ...instance, busy: true } : instance;
    case 'RELEASED':
    case 'ENDED_WITH_JOB':
      return { ...instance, busy: false, failuresInARow: event.completed ? 0 : instance.failuresInARow };
    case 'ENDED':
      return { ...counted(instance, event), busy: false };
    case 'ENDED_TOGETHER':
      return { ...instance, busy: false };
    default:
      return instance;
  }
}

/** Backoff in a crash loop, doubled after each further failure. */
export function crashLoopBackoffMs({ failuresInARow }: InstanceLifecycle): number {
  const furtherFailures = failuresInARow - CRASH_LOOP_FAILURES;
  return Math.min(FIRST_CRASH_LOOP_BACKOFF_MS * 2 ** furtherFailures, MAX_CRASH_LOOP_BACKOFF_MS);
}

/** Status of the instance in lists. */
export function statusOf({ phase, busy, coolingDown }: InstanceLifecycle): ReportedInstanceStatus {
  return phase === 'UP' && coolingDown && !busy ? 'STARTING' : STATUS[phase];
}

/** True when it can take a task. */
export function isIdle(instance: InstanceLifecycle): boolean {
  return instance.phase === 'UP' && !instance.busy && !instance.coolingDown;
}

const STATUS: Readonly<Record<Phase, ReportedInstanceStatus>> = {
  DOWN: 'DOWN',
  STARTING: 'STARTING',
  BACKOFF: 'STARTING',
  UP: 'UP',
  DRAINING: 'STOPPING',
  STOPPING: 'STOPPING',
  FAILED: 'FAILED',
};
