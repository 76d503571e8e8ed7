/** Reason why a task waits, in words: the `message` of a waiting task (contract 4.6) and the beginning of its explanation. */
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import { type JobKind, kindKey } from '@workbench-hub/shared/domain/instance';
import { readsModels } from '@workbench-hub/shared/domain/matching';
import type { TaskType } from '@workbench-hub/shared/domain/task';
import { matchesWildcard } from '@workbench-hub/shared/domain/wildcard';
import { amountInWords, durationInWords } from './amounts-in-words.js';
import type { AgentDrain } from './ports/agent-drains.js';
import type { InstanceView } from './ports/nodes.js';

/** `down` includes starting, stopping and failed instances, and those of excluded agents; `drained` all of drained agents. `kept` are those
 *  that take tasks of other hubs only at present, `ending` those whose hosts have too little time for the task. */
export const COUNTED_STATES = ['idle', 'busy', 'kept', 'ending', 'down', 'unreachable', 'drained'] as const;
export type CountedState = (typeof COUNTED_STATES)[number];
export type StateCounts = Readonly<Record<CountedState, number>>;

/** An instance class with the number of its instances by state. */
export interface CountedClass {
  readonly version: string;
  /** In lower case. */
  readonly carried: ReadonlySet<string>;
  /** Kind of jobs that its instances run; absent when they do not say. */
  readonly runs?: JobKind | undefined;
  readonly counts: StateCounts;
}

/** Types of {@link Criterion}. MODEL: the instance reads models of this type, or does not say what it reads. POINTS: it
 *  runs points of a study in bundles. */
export const CRITERION_TYPES = ['VERSION', 'LABLES', 'MODEL', 'POINTS'] as const;

/** Version, one label or the type of the model, as a task requires it. */
export interface Criterion {
  readonly type: (typeof CRITERION_TYPES)[number];
  readonly value: string;
}

/** The classes by what they lack; valid as long as the same classes are known. */
export interface ClassSurvey {
  /** Whether the requirement has a label. */
  readonly isLabeled: boolean;
  readonly fitting: readonly CountedClass[];
  /** Criteria that no class satisfies. */
  readonly unsatisfied: readonly Criterion[];
  /** Classes that lack only this criterion. */
  readonly allButOne: readonly { readonly missing: Criterion; readonly classes: readonly CountedClass[] }[];
}

export interface WaitFacts {
  readonly unsatisfied: readonly Criterion[];
  /** Number of instances that satisfy all criteria. */
  readonly satisfyingAll: number;
  /** Number of instances that lack only this criterion; criteria without such instances are left out. */
  readonly satisfyingAllButOne: readonly { readonly missing: Criterion; readonly instances: number }[];
  /** Instances that satisfy all criteria. */
  readonly fitting: StateCounts;
  /** Kinds of those that are up and say what they run, if there are several and the task requires no label; otherwise none. */
  readonly kinds: readonly KindCount[];
  /** Names of the recipes that bring hosts for it. */
  readonly recipes: readonly string[];
}

/** Number of instances that run jobs of a kind. */
export interface KindCount {
  readonly runs: JobKind;
  readonly instances: number;
}

/** Return of a task for a host fault. */
export interface Exclusion {
  readonly agentId: string;
  readonly reason: string;
  readonly atMs: number;
}

/** NEVER: no known instance fits. NONE_UP: all fitting instances are down, unreachable, kept, of drained agents, or on hosts with too little
 *  time. COMING: the same, but a recipe can bring hosts that fit. BUSY: those that are up are working, or other tasks come first. SOON: an
 *  instance is idle. PAUSED: shutdown preparation. */
export const VERDICTS = ['NEVER', 'NONE_UP', 'COMING', 'BUSY', 'SOON', 'PAUSED'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Reason why a task waits, and the same in words. */
export interface WaitReason {
  readonly verdict: Verdict;
  readonly facts: WaitFacts;
  readonly message: string;
}

const CRITERION_NAMES = {
  VERSION: 'version',
  LABLES: 'label',
  MODEL: 'models of type',
  POINTS: 'bundles of points',
};

/** Criteria that a message names, and the characters that it shows of each. */
const CRITERIA_NAMED = 5;
const CHARACTERS_NAMED = 100;
/** Kinds that a message names. */
const KINDS_NAMED = 3;
/** Drained agents that a message names. */
const DRAINS_NAMED = 3;

/** State in which an instance is counted; an instance of a drained agent is `drained`, whatever its status. */
export function countedState(
  { status, working, lent }: Pick<InstanceView, 'status' | 'working' | 'lent'>,
  isDrained: boolean,
): CountedState {
  if (isDrained) return 'drained';
  if (status === 'UNKNOWN') return 'unreachable';
  if (status !== 'UP') return 'down';
  if (lent === 'KEPT') return 'kept';
  return working ? 'busy' : 'idle';
}

/** Compares the classes with the criteria of the requirement, one by one. */
export function survey(requirement: Requirement, classes: Iterable<CountedClass>): ClassSurvey {
  const criteria = criteriaOf(requirement);
  const fitting: CountedClass[] = [];
  const offered = new Set<Criterion>();
  const near = new Map<Criterion, CountedClass[]>(criteria.map((criterion) => [criterion, []]));
  for (const counted of classes) {
    let lacked = 0;
    let latest: Criterion | undefined;
    for (const criterion of criteria) {
      if (satisfies(counted, criterion)) offered.add(criterion);
      else {
        lacked++;
        latest = criterion;
      }
    }
    if (lacked === 0) fitting.push(counted);
    if (lacked === 1 && latest) near.get(latest)?.push(counted);
  }
  return {
    isLabeled: requirement.labels.length > 0,
    fitting,
    unsatisfied: criteria.filter((criterion) => !offered.has(criterion)),
    allButOne: [...near]
      .filter(([, lacking]) => lacking.length > 0)
      .map(([missing, lacking]) => ({ missing, classes: lacking })),
  };
}

function criteriaOf({ version, labels, modelType, points }: Requirement): Criterion[] {
  return [
    ...(version === null ? [] : [{ type: 'VERSION' as const, value: version }]),
    ...labels.map((value) => ({ type: 'LABLES' as const, value })),
    ...(modelType === undefined ? [] : [{ type: 'MODEL' as const, value: modelType }]),
    ...(points ? [{ type: 'POINTS' as const, value: 'bundles' }] : []),
  ];
}

function satisfies({ version, carried, runs }: CountedClass, { type, value }: Criterion): boolean {
  switch (type) {
    case 'VERSION':
      return matchesWildcard(value, version);
    case 'LABLES':
      return carried.has(value);
    case 'MODEL':
      return readsModels(runs, value);
    case 'POINTS':
      return runs?.points === true;
  }
}

/** Numbers of instances in a survey, as of now. */
export function waitFacts(
  { isLabeled, fitting, unsatisfied, allButOne }: ClassSurvey,
  recipes: readonly string[] = [],
): WaitFacts {
  const counts = totalOf(fitting);
  return {
    unsatisfied,
    satisfyingAll: instancesIn(counts),
    satisfyingAllButOne: allButOne.map(({ missing, classes }) => ({
      missing,
      instances: instancesIn(totalOf(classes)),
    })),
    fitting: counts,
    kinds: isLabeled ? [] : differingKinds(fitting),
    recipes,
  };
}

/** Kinds of the instances that are up and say what they run, most instances first; none when all are of the same kind. */
function differingKinds(classes: readonly CountedClass[]): KindCount[] {
  const kinds = new Map<string, { readonly runs: JobKind; instances: number }>();
  for (const { runs, counts } of classes) {
    const key = kindKey(runs && { ...runs, points: undefined });
    const instances = counts.idle + counts.busy;
    if (!runs || key === null || instances === 0) continue;
    const kind = kinds.get(key) ?? { runs, instances: 0 };
    kind.instances += instances;
    kinds.set(key, kind);
  }
  if (kinds.size < 2) return [];
  return [...kinds]
    .sort(([a, { instances: ofA }], [b, { instances: ofB }]) => ofB - ofA || (a < b ? -1 : 1))
    .map(([, kind]) => kind);
}

/** The facts for a task of this type: simulated work runs anywhere alike. */
export function factsForType(facts: WaitFacts, type: TaskType): WaitFacts {
  return type === 'SIMULATE_WORK' ? { ...facts, kinds: [] } : facts;
}

function totalOf(classes: readonly CountedClass[]): StateCounts {
  const total = noInstances();
  for (const { counts } of classes) for (const state of COUNTED_STATES) total[state] += counts[state];
  return total;
}

/** Number of instances in all states together. */
export function instancesIn(counts: StateCounts): number {
  return COUNTED_STATES.reduce((sum, state) => sum + counts[state], 0);
}

export function noInstances(): Record<CountedState, number> {
  return { idle: 0, busy: 0, kept: 0, ending: 0, down: 0, unreachable: 0, drained: 0 };
}

/** Verdict without regard to other tasks. */
export function verdictOf(
  { satisfyingAll, fitting: { idle, busy }, recipes }: WaitFacts,
  dispatching: boolean,
): Verdict {
  if (satisfyingAll === 0 && recipes.length === 0) return 'NEVER';
  if (!dispatching) return 'PAUSED';
  if (idle + busy === 0) return recipes.length > 0 ? 'COMING' : 'NONE_UP';
  return idle > 0 ? 'SOON' : 'BUSY';
}

/** Reason in words. `detail` is what else is known of a task whose instances are up. */
export function reasonInWords(verdict: Verdict, facts: WaitFacts, detail = ''): string {
  const { fitting, satisfyingAll } = facts;
  switch (verdict) {
    case 'NEVER':
      return `No known instance fits${neverDetail(facts)}; it waits until one does.`;
    case 'PAUSED':
      return 'The hub is being prepared for a shutdown and dispatches no tasks until it is restarted.';
    case 'NONE_UP':
      return `${amountInWords(satisfyingAll, 'instance fits', 'instances fit')}, but ${noneUpDetail(fitting)}.`;
    case 'COMING':
      return `No instance that takes tasks fits; ${recipesInWords(facts.recipes)} that do.`;
    case 'SOON':
      return `${amountInWords(fitting.idle, 'fitting instance is', 'fitting instances are')} free${detail}.`;
    case 'BUSY':
      return `${amountInWords(fitting.busy, 'fitting instance is', 'fitting instances are')} busy${detail}.`;
  }
}

function recipesInWords(recipes: readonly string[]): string {
  const names = listed(recipes.map((recipe) => JSON.stringify(recipe)));
  return `the ${recipes.length === 1 ? 'recipe' : 'recipes'} ${names} can bring hosts`;
}

function noneUpDetail({ down, unreachable, drained, kept, ending }: StateCounts): string {
  const counts = `${down} down, ${unreachable} unreachable`;
  if (drained + kept + ending === 0) return `none is up: ${counts}`;
  const others = [
    ...(drained === 0 ? [] : [`${drained} on drained agents`]),
    ...(kept === 0 ? [] : [`${kept} kept for tasks of other hubs`]),
    ...(ending === 0 ? [] : [`${ending} on hosts with too little time for it`]),
  ];
  return `none takes tasks: ${[counts, ...others].join(', ')}`;
}

/** Warning of fitting instances of different kinds, in words; empty without any. */
export function kindsWarning(kinds: readonly KindCount[]): string {
  if (kinds.length === 0) return '';
  const named = kinds
    .slice(0, KINDS_NAMED)
    .map(({ runs, instances }) => `${amountInWords(instances, 'runs', 'run')} ${kindInWords(runs)}`);
  const more = kinds.length - named.length;
  const all = `${named.join('; ')}${more > 0 ? `; and ${amountInWords(more, 'more kind', 'more kinds')}` : ''}`;
  return `The fitting instances are of different kinds: ${all}. Ask for a label that only the right ones have.`;
}

/** `models of type MJCF, XML and scripts in JavaScript` */
function kindInWords({ models, scripts }: JobKind): string {
  const ofModels = models
    ? models.length === 0
      ? 'no models'
      : `models of type ${listed(models)}`
    : 'models of any type';
  return scripts
    ? `${ofModels} and ${scripts.length === 0 ? 'no scripts' : `scripts in ${listed(scripts)}`}`
    : ofModels;
}

/** The returns of a task in words, to follow the reason. */
export function returnsInWords(exclusions: readonly Exclusion[], nowMs: number): string {
  return exclusions
    .map(
      ({ agentId, reason, atMs }) =>
        ` Agent ${agentId} returned it ${durationInWords(nowMs - atMs)} ago: ${reason}.`,
    )
    .join('');
}

/** The drained agents in words, to follow the reason. */
export function drainsInWords(drains: readonly AgentDrain[], nowMs: number): string {
  const named = drains
    .slice(0, DRAINS_NAMED)
    .map(
      ({ agentId, by, sinceMs }) =>
        ` Agent ${agentId} was drained by ${by} ${durationInWords(nowMs - sinceMs)} ago.`,
    );
  const more = drains.length - named.length;
  return (
    named.join('') + (more > 0 ? ` ${amountInWords(more, 'more agent is', 'more agents are')} drained.` : '')
  );
}

function neverDetail({ unsatisfied, satisfyingAllButOne }: WaitFacts): string {
  if (unsatisfied.length > 0) return `: none offers ${listed(unsatisfied.map(name))}`;
  if (satisfyingAllButOne.length === 0) return ': none offers all that is asked for';
  const near = satisfyingAllButOne.map(
    ({ missing, instances }) => `${amountInWords(instances, 'lacks', 'lack')} only ${name(missing)}`,
  );
  return `: ${listed(near)}`;
}

function listed(items: readonly string[]): string {
  const more = items.length - CRITERIA_NAMED;
  return `${items.slice(0, CRITERIA_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function name({ type, value }: Criterion): string {
  if (type === 'POINTS') return CRITERION_NAMES[type];
  const shown = value.length > CHARACTERS_NAMED ? `${value.slice(0, CHARACTERS_NAMED)}…` : value;
  return `${CRITERION_NAMES[type]} ${JSON.stringify(shown)}`;
}
