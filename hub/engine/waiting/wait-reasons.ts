/** Reasons why tasks wait, from the instance classes in memory. Which classes fit is kept by requirement. */
import { type Requirement, requirementKey } from '@workbench-hub/shared/domain/classifier';
import { fits } from '@workbench-hub/shared/domain/matching';
import type { TaskType } from '@workbench-hub/shared/domain/task';
import {
  type ClassSurvey,
  countedState,
  type Exclusion,
  factsForType,
  kindsWarning,
  reasonInWords,
  returnsInWords,
  survey,
  verdictOf,
  type WaitFacts,
  type WaitReason,
  waitFacts,
} from '../../core/wait-reason.js';
import type { Instances } from '../instances/instances.js';

type KnownInstances = Pick<Instances, 'countedClasses' | 'countsVersion' | 'classesVersion' | 'findAgent'>;

interface Surveyed {
  readonly survey: ClassSurvey;
  /** As of {@link countsVersion}. */
  facts: WaitFacts;
  countsVersion: number;
}

/** State of the hub and of the task beside its requirement. */
export interface WaitCircumstances {
  readonly type: TaskType;
  /** False during shutdown preparation. */
  readonly dispatching: boolean;
  readonly returns: readonly Exclusion[];
  /** Agents that the task is not dispatched to for now. */
  readonly avoided: readonly string[];
  /** Agents whose hosts have too little time for the task. */
  readonly ending: readonly string[];
  /** Names of the recipes that bring hosts for the task. */
  readonly recipes: readonly string[];
  readonly nowMs: number;
}

/** Requirements whose fitting classes are kept. */
const REQUIREMENTS_KEPT = 1000;

export class WaitReasons {
  readonly #instances: KnownInstances;
  /** By requirement key, as of {@link #classesVersion}. */
  readonly #surveys = new Map<string, Surveyed>();
  #classesVersion = -1;

  constructor(instances: KnownInstances) {
    this.#instances = instances;
  }

  of(
    requirement: Requirement,
    { type, dispatching, returns, avoided, ending, recipes, nowMs }: WaitCircumstances,
  ): WaitReason {
    let facts = factsForType(this.#factsOf(requirement), type);
    if (recipes.length > 0) facts = { ...facts, recipes };
    for (const agentId of avoided) facts = this.#without(agentId, requirement, facts, 'down');
    for (const agentId of ending)
      if (!avoided.includes(agentId)) facts = this.#without(agentId, requirement, facts, 'ending');
    const verdict = verdictOf(facts, dispatching);
    const message = `${reasonInWords(verdict, facts)}${returnsInWords(returns, nowMs)}`;
    const warning = kindsWarning(facts.kinds);
    return { verdict, facts, message: warning === '' ? message : `${message} ${warning}` };
  }

  #factsOf(requirement: Requirement): WaitFacts {
    const { countsVersion } = this.#instances;
    const surveyed = this.#surveyed(requirement);
    if (surveyed.countsVersion !== countsVersion) {
      surveyed.facts = waitFacts(surveyed.survey);
      surveyed.countsVersion = countsVersion;
    }
    return surveyed.facts;
  }

  #surveyed(requirement: Requirement): Surveyed {
    const { classesVersion, countsVersion } = this.#instances;
    if (this.#classesVersion !== classesVersion) {
      this.#surveys.clear();
      this.#classesVersion = classesVersion;
    }
    const key = requirementKey(requirement);
    const known = this.#surveys.get(key);
    if (known) return known;
    const latest = survey(requirement, this.#instances.countedClasses);
    const surveyed = { survey: latest, facts: waitFacts(latest), countsVersion };
    for (const oldest of this.#surveys.keys()) {
      if (this.#surveys.size < REQUIREMENTS_KEPT) break;
      this.#surveys.delete(oldest);
    }
    this.#surveys.set(key, surveyed);
    return surveyed;
  }

  /** Counts the instances of this agent that are up in this state. */
  #without(agentId: string, requirement: Requirement, facts: WaitFacts, as: 'down' | 'ending'): WaitFacts {
    const fitting = { ...facts.fitting };
    for (const view of this.#instances.findAgent(agentId)?.instances ?? []) {
      if (view.status !== 'UP' || view.drain || !fits(requirement, view.profile)) continue;
      fitting[countedState(view, false)]--;
      fitting[as]++;
    }
    return { ...facts, fitting };
  }
}
