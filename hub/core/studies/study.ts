/** A study: one job at many points, of which each becomes a task late (decision 0085). */
import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import type { BatchJob } from '@workbench-hub/shared/domain/job';
import type { StateMachine } from '@workbench-hub/shared/domain/state-machine';
import type { NotifyAddress } from '../task.js';
import type { ValueCondition } from './conditions.js';
import type { StudyPlan } from './plans.js';
import type { ReadValue } from './values/read-value.js';
import type { ValueRule } from './values/value-rules.js';
import type { PointValue, StudyVariable } from './variables.js';

export const STUDY_STATES = ['RUNNING', 'PAUSED', 'STOPPED', 'FINISHED'] as const;
export type StudyState = (typeof STUDY_STATES)[number];

/** State machine of a study. The store derives the conditions of its statements from it. */
export const STUDY_TRANSITIONS = {
  create: { from: ['-'], to: ['RUNNING'], by: 'client' },
  pause: { from: ['RUNNING'], to: ['PAUSED'], by: 'client: no more points begin' },
  resume: { from: ['PAUSED', 'STOPPED'], to: ['RUNNING'], by: 'client' },
  stop: {
    from: ['RUNNING', 'PAUSED'],
    to: ['STOPPED'],
    by: 'client, or a rule of the study: the points in progress are canceled',
  },
  finish: { from: ['RUNNING'], to: ['FINISHED'], by: 'driver, when every point has an outcome' },
  runAgain: {
    from: ['FINISHED'],
    to: ['RUNNING'],
    by: 'client, with further points, or points to try again',
  },
  remove: { from: ['STOPPED', 'FINISHED'], to: ['-'], by: 'client, or the end of tasks.keepEndedFor' },
} as const satisfies StateMachine<StudyState | '-'>;

/** Time of the end that a study has by a change to this state; null for a change that ends nothing. */
export function endOfChange(to: StudyState, atMs: number): number | null {
  return to === 'STOPPED' || to === 'FINISHED' ? atMs : null;
}

/** Time from which on a study runs by a change to this state; null for a change after which it does not. */
export function startOfChange(to: StudyState, atMs: number): number | null {
  return to === 'RUNNING' ? atMs : null;
}

/** Whether webhooks tell of a change to this state: each end, and a pause for which the study has a reason of its own. */
export function isTold(to: StudyState, message: string | null): boolean {
  return to === 'STOPPED' || to === 'FINISHED' || (to === 'PAUSED' && message !== null);
}

/** States in which a study takes further points. */
export const GROWING_STATES = ['RUNNING', 'PAUSED', 'FINISHED'] as const satisfies readonly StudyState[];

/** Outcomes of a point. FINISHED: with a result. SOLVER_FAILED: the job ran, and failed. RULE_FAILED: the job succeeded, its values do
 *  not. INFRASTRUCTURE: given up for a crash of the instance, a loss of the agent or a fault of the host, which says nothing about the
 *  point. CANCELED: by somebody. REUSED: with the result of an earlier task, without one of its own. */
export const POINT_OUTCOMES = [
  'FINISHED',
  'SOLVER_FAILED',
  'RULE_FAILED',
  'INFRASTRUCTURE',
  'CANCELED',
  'REUSED',
] as const;
export type PointOutcome = (typeof POINT_OUTCOMES)[number];

/** Cause of the outcome INFRASTRUCTURE. */
export const POINT_CAUSES = ['CRASH', 'LOSS', 'HOST_FAULT'] as const;
export type PointCause = (typeof POINT_CAUSES)[number];

/** Part of a study that never changes. */
export interface StudyDefinition {
  readonly classifiers: readonly Classifier[];
  readonly timeLimitS: number | null;
  /** The job of each point, but for its variables. */
  readonly job: BatchJob;
  readonly variables: readonly StudyVariable[];
  readonly values: readonly ValueRule[];
  /** Conditions that all must hold for the outcome FINISHED; one on a value that is missing does not hold. */
  readonly success: readonly ValueCondition[];
  /** Number of points that failed, for whatever reason, at which the study stops by itself; null for none. Failures from before it was
   *  resumed or ran again do not count. */
  readonly stopAfterFailures: number | null;
  /** Seconds after which it stops by itself, since it was created, resumed, or ran again; null for none. */
  readonly stopAfterS: number | null;
  /** Conditions at which it stops by itself: when one point meets them all. None: it does not. */
  readonly stopWhen: readonly ValueCondition[];
  /** Whether points take results of earlier tasks with equal inputs (decision 0086). */
  readonly reuse: boolean;
  /** Whether several small points may run as one task (decision 0088). */
  readonly bundle: boolean;
}

/** Points of a study that were handed in together. */
export interface PlannedPart {
  /** Number of the first of them; the first of a study is 1. */
  readonly first: number;
  readonly count: number;
  readonly plan: StudyPlan;
}

/** A study without its definition and its plan. Timestamps are milliseconds since 1970 by the hub's clock. */
export interface StudyRecord {
  readonly id: string;
  readonly name: string;
  readonly note: string | null;
  readonly creator: string | null;
  readonly state: StudyState;
  /** Sentence for people on why it stopped or paused by itself; null otherwise. */
  readonly message: string | null;
  readonly createdAtMs: number;
  /** Time at which it was created, resumed, or ran again. */
  readonly runningSinceMs: number;
  /** Time at which it was stopped or finished last; null while it is neither. */
  readonly endedAtMs: number | null;
  /** Points of all parts so far. */
  readonly pointCount: number;
  /** Points that have begun: those with the numbers up to this one. */
  readonly begunCount: number;
  /** Number of times that points were to be tried again, or, after their bundle, by tasks of their own. */
  readonly retryCount: number;
  /** Whether points may be added without end: it does not finish by itself. */
  readonly isOpen: boolean;
}

export interface Study extends StudyRecord {
  readonly definition: StudyDefinition;
}

export interface NewStudy extends Study {
  /** Key of the request that creates it; null for none. */
  readonly key: string | null;
  readonly plan: StudyPlan;
  /** Address that is told of its ends and pauses; null for none. */
  readonly notify: NotifyAddress | null;
}

/** Numbers of points by outcome. OPEN: begun, and without an outcome. DUE: to be tried again, without a task yet. */
export type OutcomeCounts = Readonly<Partial<Record<PointOutcome | 'OPEN' | 'DUE', number>>>;

/** A point that has begun. */
export interface Point {
  readonly number: number;
  /** Tasks that it was given so far; another one for each retry. */
  readonly tries: number;
  readonly variables: readonly PointValue[];
  /** Number of the first point of its bundle, whose task it shares; null for a point with a task of its own. */
  readonly bundle: number | null;
  /** Reason why no earlier result was reused; null for a point that was not to, and for one that was. */
  readonly notReused: string | null;
  /** Null while its task waits or runs. */
  readonly end: PointEnd | null;
}

/** A point that begins: with its first task, or, if it has an end already, without one. */
export type BegunPoint = Pick<Point, 'variables' | 'bundle' | 'notReused' | 'end'>;

export interface PointEnd {
  readonly outcome: PointOutcome;
  readonly cause: PointCause | null;
  /** Reason of any outcome but FINISHED and REUSED. */
  readonly message: string | null;
  /** Earlier task whose result it has; null for one with a task of its own. */
  readonly source: string | null;
  /** Values in the order of the rules; empty unless the job ran to its end. */
  readonly values: readonly ReadValue[];
  readonly startedAtMs: number | null;
  readonly endedAtMs: number;
}
