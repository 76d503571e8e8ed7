/** Explanation why a task waits, or would wait if it were created now: in words and as data. */
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import type { InstanceProfile, InstanceStatus } from '@workbench-hub/shared/domain/instance';
import { matchesWildcard } from '@workbench-hub/shared/domain/wildcard';
import type { RunTimes } from './run-times.js';

export interface Candidate {
  readonly profile: InstanceProfile;
  readonly status: InstanceStatus;
  readonly working: boolean;
  /** The task is not dispatched to its agent, which returned it. */
  readonly isExcluded?: boolean;
}

/** Return of a task for a host fault. */
export interface Exclusion {
  readonly agentId: string;
  readonly reason: string;
  readonly atMs: number;
}

/** Version or one label that a task requires. */
export interface Criterion {
  readonly type: 'VERSION' | 'LABLES';
  readonly value: string;
}

export interface Situation {
  readonly requirement: Requirement;
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
}

/** Limit of the count: beyond it, an exact number is not worth its cost. */
export const MAX_TASKS_AHEAD = 10_000;

/** NEVER: no known instance fits. NONE_UP: all fitting instances are down or unreachable. BUSY: those that are up are working,
 *  or other tasks come first. SOON: an instance is idle. PAUSED: shutdown preparation. */
export const VERDICTS = ['NEVER', 'NONE_UP', 'BUSY', 'SOON', 'PAUSED'] as const;
export type Verdict = (typeof VERDICTS)[number];

export interface StartEstimate {
  readonly expectedMs: number;
  readonly earliestMs: number;
  readonly latestMs: number;
  /** Number of run times that it is based on. */
  readonly measuredRuns: number;
}

export interface Explanation {
  readonly verdict: Verdict;
  readonly message: string;
  /** Criteria that no known instance satisfies. */
  readonly unsatisfied: readonly Criterion[];
  readonly knownInstances: number;
  readonly satisfyingAll: number;
  /** Number of instances that lack only this criterion; criteria without such instances are left out. */
  readonly satisfyingAllButOne: readonly { readonly missing: Criterion; readonly instances: number }[];
  /** Instances that satisfy all criteria. `down` includes starting, stopping and failed ones, and those of excluded agents. */
  readonly fitting: {
    readonly idle: number;
    readonly busy: number;
    readonly down: number;
    readonly unreachable: number;
  };
  readonly tasksAhead: number;
  readonly unfittingSinceMs: number | null;
  /** Expected start, in milliseconds since 1970; null when too little is known. */
  readonly estimate: StartEstimate | null;
  readonly exclusions: readonly Exclusion[];
}

export function explain(situation: Situation): Explanation {
  const { requirement, candidates, tasksAhead, dispatching } = situation;
  const criteria = criteriaOf(requirement);
  const lacking = lackedByEach(candidates, criteria);
  const fittingCandidates = candidates.filter((_, at) => lacking[at]?.length === 0);
  const fitting = countStates(fittingCandidates);
  const verdict = verdictOf(fittingCandidates.length, fitting, tasksAhead, dispatching);
  const facts = {
    unsatisfied: lackedByAll(criteria, lacking),
    knownInstances: candidates.length,
    satisfyingAll: fittingCandidates.length,
    satisfyingAllButOne: allButOne(criteria, lacking),
    fitting,
    tasksAhead,
    unfittingSinceMs: verdict === 'NEVER' ? situation.unfittingSinceMs : null,
    estimate: estimateOf(verdict, fitting, situation),
    exclusions: situation.exclusions ?? [],
  };
  const returns = facts.exclusions.map(
    ({ agentId, reason, atMs }) =>
      ` Agent ${agentId} returned it ${span(situation.nowMs - atMs)} ago: ${reason}.`,
  );
  return { verdict, message: `${wordsOf(verdict, facts, situation)}${returns.join('')}`, ...facts };
}

function criteriaOf({ version, labels }: Requirement): Criterion[] {
  const asked: Criterion[] = labels.map((value) => ({ type: 'LABLES', value }));
  return version === null ? asked : [{ type: 'VERSION', value: version }, ...asked];
}

/** Criteria that each instance lacks. Instances of one class, of which there may be thousands, share a list. */
function lackedByEach(
  candidates: readonly Candidate[],
  criteria: readonly Criterion[],
): (readonly Criterion[])[] {
  const known = new Map<string, readonly Criterion[]>();
  return candidates.map(({ profile: { version, labels } }) => {
    const key = JSON.stringify([version, labels]);
    const lacked = known.get(key) ?? lackedBy({ version, labels }, criteria);
    known.set(key, lacked);
    return lacked;
  });
}

function lackedBy(
  { version, labels }: Pick<InstanceProfile, 'version' | 'labels'>,
  criteria: readonly Criterion[],
): Criterion[] {
  const carried = new Set(labels.map((label) => label.toLowerCase()));
  return criteria.filter(({ type, value }) =>
    type === 'VERSION' ? !matchesWildcard(value, version) : !carried.has(value),
  );
}

function lackedByAll(criteria: readonly Criterion[], lacking: readonly (readonly Criterion[])[]) {
  const offered = new Set<Criterion>();
  for (const lacked of new Set(lacking)) {
    const missing = new Set(lacked);
    for (const criterion of criteria) if (!missing.has(criterion)) offered.add(criterion);
  }
  return criteria.filter((criterion) => !offered.has(criterion));
}

function allButOne(criteria: readonly Criterion[], lacking: readonly (readonly Criterion[])[]) {
  return criteria
    .map((missing) => ({
      missing,
      instances: lacking.filter(([only, another]) => only === missing && another === undefined).length,
    }))
    .filter(({ instances }) => instances > 0);
}

function countStates(fitting: readonly Candidate[]): Explanation['fitting'] {
  const counts = { idle: 0, busy: 0, down: 0, unreachable: 0 };
  for (const { status, working, isExcluded } of fitting) {
    if (status === 'UNKNOWN') counts.unreachable++;
    else if (status !== 'UP' || isExcluded) counts.down++;
    else if (working) counts.busy++;
    else counts.idle++;
  }
  return counts;
}

function verdictOf(
  known: number,
  { idle, busy }: Explanation['fitting'],
  tasksAhead: number,
  dispatching: boolean,
): Verdict {
  if (known === 0) return 'NEVER';
  if (!dispatching) return 'PAUSED';
  if (idle + busy === 0) return 'NONE_UP';
  return idle > tasksAhead ? 'SOON' : 'BUSY';
}

/** Estimate in rounds: in each, the instances that are up run one task each. A running task has, on average, half of its time
 *  left. */
function estimateOf(
  verdict: Verdict,
  { idle, busy }: Explanation['fitting'],
  { runTimes, tasksAhead, nowMs }: Situation,
): StartEstimate | null {
  if (verdict === 'SOON') {
    return { expectedMs: nowMs, earliestMs: nowMs, latestMs: nowMs, measuredRuns: runTimes?.count ?? 0 };
  }
  if (verdict !== 'BUSY' || !runTimes || tasksAhead >= MAX_TASKS_AHEAD) return null;
  const toWaitFor = tasksAhead - idle + 1;
  const rounds = Math.ceil(toWaitFor / (idle + busy));
  return {
    earliestMs: nowMs + (rounds - 1) * runTimes.lowMs,
    expectedMs: nowMs + (rounds - 0.5) * runTimes.medianMs,
    latestMs: nowMs + rounds * runTimes.highMs,
    measuredRuns: runTimes.count,
  };
}

function wordsOf(
  verdict: Verdict,
  facts: Omit<Explanation, 'verdict' | 'message'>,
  { nowMs }: Situation,
): string {
  const { fitting, satisfyingAll, tasksAhead, estimate } = facts;
  switch (verdict) {
    case 'NEVER':
      return `No known instance fits${neverDetail(facts)}; it waits until one does.`;
    case 'PAUSED':
      return 'The hub is being prepared for a shutdown and dispatches no tasks until it is restarted.';
    case 'NONE_UP':
      return `${count(satisfyingAll, 'instance fits', 'instances fit')}, but none is up: ${fitting.down} down, ${fitting.unreachable} unreachable.`;
    case 'SOON':
      return `${count(fitting.idle, 'fitting instance is', 'fitting instances are')} free; it starts at once.`;
    case 'BUSY': {
      const when = estimate ? `; expected to start in ${span(estimate.expectedMs - nowMs)}` : '';
      const range = estimate
        ? ` (between ${span(estimate.earliestMs - nowMs)} and ${span(estimate.latestMs - nowMs)})`
        : '';
      return `${count(fitting.busy, 'fitting instance is', 'fitting instances are')} busy, ${tasksAhead >= MAX_TASKS_AHEAD ? 'at least ' : ''}${count(tasksAhead, 'task is', 'tasks are')} ahead${when}${range}.`;
    }
  }
}

function neverDetail({
  unsatisfied,
  satisfyingAllButOne,
}: Pick<Explanation, 'unsatisfied' | 'satisfyingAllButOne'>): string {
  if (unsatisfied.length > 0) return `: none offers ${unsatisfied.map(name).join(', ')}`;
  if (satisfyingAllButOne.length === 0) return ': none offers all that is asked for';
  const near = satisfyingAllButOne.map(
    ({ missing, instances }) => `${count(instances, 'lacks', 'lack')} only ${name(missing)}`,
  );
  return `: ${near.join(', ')}`;
}

function name({ type, value }: Criterion): string {
  return `${type === 'VERSION' ? 'version' : 'label'} ${JSON.stringify(value)}`;
}

function count(amount: number, one: string, more: string): string {
  return `${amount} ${amount === 1 ? one : more}`;
}

function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
