/** Explanation why a task waits, or would wait if it were created now: in words and as data. */
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import type { InstanceProfile, InstanceStatus, LentState } from '@workbench-hub/shared/domain/instance';
import { carriedLabels, fits } from '@workbench-hub/shared/domain/matching';
import type { TaskType } from '@workbench-hub/shared/domain/task';
import { amountInWords, durationInWords } from './amounts-in-words.js';
import { outlookInWords, type RecipeOutlook } from './host-outlook.js';
import { classKey } from './idle-instances.js';
import type { AgentDrain } from './ports/agent-drains.js';
import type { RunTimes } from './run-times.js';
import {
  type CountedClass,
  type CountedState,
  countedState,
  drainsInWords,
  type Exclusion,
  factsForType,
  kindsWarning,
  noInstances,
  reasonInWords,
  returnsInWords,
  type StateCounts,
  survey,
  type Verdict,
  verdictOf,
  type WaitFacts,
  waitFacts,
} from './wait-reason.js';

/** A known instance, on which the task may run or not. */
export interface Candidate {
  readonly profile: InstanceProfile;
  readonly status: InstanceStatus;
  readonly working: boolean;
  /** Only of an instance that a joined hub lends. */
  readonly lent?: LentState | undefined;
  /** The task is not dispatched to its agent, which returned it. */
  readonly isExcluded?: boolean;
  /** Its host has too little time for the task. */
  readonly isEnding?: boolean;
  /** False when it runs a task whose end cannot be foreseen. */
  readonly isEndForeseeable?: boolean;
  /** Set when its agent is drained. */
  readonly drain?: AgentDrain | null;
}

/** All that an explanation of one task depends on. */
export interface Situation {
  readonly requirement: Requirement;
  readonly type: TaskType;
  readonly candidates: readonly Candidate[];
  /** Waiting tasks that come before this one and that the same instances could run, counted up to {@link MAX_TASKS_AHEAD}. */
  readonly tasksAhead: number;
  /** Run times of tasks with the same requirement; null when too few have ended. */
  readonly runTimes: RunTimes | null;
  /** Time since which no known instance has fitted, if none does; milliseconds since 1970. */
  readonly unfittingSinceMs: number;
  readonly nowMs: number;
  /** False during shutdown preparation. */
  readonly dispatching: boolean;
  readonly exclusions?: readonly Exclusion[];
  /** Recipes of hosts with an instance class that fits. */
  readonly outlooks?: readonly RecipeOutlook[];
}

/** Limit of the count: beyond it, an exact number is not worth its cost. */
export const MAX_TASKS_AHEAD = 10_000;

export interface StartEstimate {
  readonly expectedMs: number;
  readonly earliestMs: number;
  readonly latestMs: number;
  /** Number of run times that it is based on. */
  readonly measuredRuns: number;
}

export interface Explanation extends WaitFacts {
  readonly verdict: Verdict;
  readonly message: string;
  readonly knownInstances: number;
  readonly tasksAhead: number;
  readonly unfittingSinceMs: number | null;
  /** Expected start, in milliseconds since 1970; null when too little is known. */
  readonly estimate: StartEstimate | null;
  readonly exclusions: readonly Exclusion[];
  /** Drained agents with fitting instances. */
  readonly drains: readonly AgentDrain[];
  readonly outlooks: readonly RecipeOutlook[];
}

/** Explains the situation of a task: verdict, message, figures, and an estimate of its start. */
export function explain(situation: Situation): Explanation {
  const { requirement, type, candidates, tasksAhead, dispatching, nowMs } = situation;
  const { exclusions = [], outlooks = [] } = situation;
  const recipes = outlooks.flatMap(({ recipe, obstacle }) => (obstacle === 'TIME' ? [] : [recipe]));
  const facts = factsForType(waitFacts(survey(requirement, countedClasses(candidates)), recipes), type);
  const alone = verdictOf(facts, dispatching);
  const verdict = alone === 'SOON' && facts.fitting.idle <= tasksAhead ? 'BUSY' : alone;
  const unforeseeable = countUnforeseeable(situation);
  const estimate = estimateOf(verdict, facts.fitting, unforeseeable, situation);
  const isUnforeseeable = facts.fitting.idle === 0 && facts.fitting.busy === unforeseeable;
  const reason = reasonInWords(verdict, facts, detailOf(verdict, situation, estimate, isUnforeseeable));
  const drains = drainsOf(situation);
  const drained =
    verdict === 'NONE_UP' || verdict === 'COMING' || verdict === 'BUSY' ? drainsInWords(drains, nowMs) : '';
  const hosts = verdict === 'SOON' || verdict === 'PAUSED' ? '' : outlookInWords(outlooks, nowMs);
  const warning = kindsWarning(facts.kinds);
  return {
    verdict,
    message: `${reason}${returnsInWords(exclusions, nowMs)}${drained}${hosts}${warning === '' ? '' : ` ${warning}`}`,
    ...facts,
    knownInstances: candidates.length,
    tasksAhead,
    unfittingSinceMs: verdict === 'NEVER' ? situation.unfittingSinceMs : null,
    estimate,
    exclusions,
    drains,
    outlooks,
  };
}

function countedClasses(candidates: readonly Candidate[]): Iterable<CountedClass> {
  const classes = new Map<string, CountedClass & { readonly counts: Record<CountedState, number> }>();
  for (const candidate of candidates) {
    const { profile, isExcluded, isEnding, drain } = candidate;
    const { version, labels, runs } = profile;
    const key = classKey({ version, labels, runs });
    const counted = classes.get(key) ?? {
      version,
      runs,
      carried: carriedLabels({ labels }),
      counts: noInstances(),
    };
    classes.set(key, counted);
    const state = countedState(candidate, Boolean(drain));
    const isUp = state === 'idle' || state === 'busy' || state === 'kept';
    if (isUp && isExcluded) counted.counts.down++;
    else if (isUp && isEnding) counted.counts.ending++;
    else counted.counts[state]++;
  }
  return classes.values();
}

/** Number of fitting instances that are up, but busy for an unknown time. */
function countUnforeseeable({ candidates, requirement }: Situation): number {
  return candidates.filter(
    ({ profile, status, working, isExcluded, isEnding, isEndForeseeable = true, drain }) =>
      !isEndForeseeable &&
      working &&
      status === 'UP' &&
      !isExcluded &&
      !isEnding &&
      !drain &&
      fits(requirement, profile),
  ).length;
}

/** Unique, by agent. */
function drainsOf({ candidates, requirement }: Situation): AgentDrain[] {
  const drains = new Map(
    candidates.flatMap(({ drain, profile }) =>
      drain && fits(requirement, profile) ? [[drain.agentId, drain] as const] : [],
    ),
  );
  return [...drains.values()].sort((a, b) => (a.agentId < b.agentId ? -1 : 1));
}

/** Estimate in rounds: in each, the instances that are up run one task each. A running task has, on average, half of its time
 *  left. Instances that are busy for an unknown time may become free at once, but are not relied on. */
function estimateOf(
  verdict: Verdict,
  { idle, busy }: StateCounts,
  unforeseeable: number,
  { runTimes, tasksAhead, nowMs }: Situation,
): StartEstimate | null {
  if (verdict === 'SOON') {
    return { expectedMs: nowMs, earliestMs: nowMs, latestMs: nowMs, measuredRuns: runTimes?.count ?? 0 };
  }
  if (verdict !== 'BUSY' || !runTimes || tasksAhead >= MAX_TASKS_AHEAD) return null;
  const reliable = idle + busy - unforeseeable;
  if (reliable === 0) return null;
  const toWaitFor = tasksAhead - idle + 1;
  const rounds = Math.ceil(toWaitFor / reliable);
  const fewestRounds = Math.ceil(toWaitFor / (idle + busy));
  return {
    earliestMs: nowMs + (fewestRounds - 1) * runTimes.lowMs,
    expectedMs: nowMs + (rounds - 0.5) * runTimes.medianMs,
    latestMs: nowMs + rounds * runTimes.highMs,
    measuredRuns: runTimes.count,
  };
}

function detailOf(
  verdict: Verdict,
  { tasksAhead, nowMs }: Situation,
  estimate: StartEstimate | null,
  isUnforeseeable: boolean,
): string {
  if (verdict === 'SOON') return '; it starts at once';
  if (verdict !== 'BUSY') return '';
  const atLeast = tasksAhead >= MAX_TASKS_AHEAD ? 'at least ' : '';
  const ahead = `, ${atLeast}${amountInWords(tasksAhead, 'task is', 'tasks are')} ahead`;
  if (isUnforeseeable) return `${ahead}; when they will be free cannot be foreseen`;
  if (!estimate) return ahead;
  const { expectedMs, earliestMs, latestMs } = estimate;
  const range = `between ${durationInWords(earliestMs - nowMs)} and ${durationInWords(latestMs - nowMs)}`;
  return `${ahead}; expected to start in ${durationInWords(expectedMs - nowMs)} (${range})`;
}
