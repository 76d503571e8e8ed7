/** Earlier results that points of a study may reuse: those of points of studies, and of tasks, with equal inputs. */
import { type BatchJob, type FileRef, filesOfJob } from '@workbench-hub/shared/domain/job';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { Studies } from '../../core/ports/studies.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import {
  comparedVariables,
  differenceOfAll,
  type WantedVariables,
} from '../../core/studies/reuse/compared-variables.js';
import {
  type BundledResult,
  type EarlierResult,
  EarlierResults,
} from '../../core/studies/reuse/earlier-results.js';
import {
  firstDifference,
  type InputDifference,
  inputsOf,
  type JobInputs,
} from '../../core/studies/reuse/job-inputs.js';
import type { Point, Study } from '../../core/studies/study.js';
import type { ReadValue } from '../../core/studies/values/read-value.js';
import type { Task } from '../../core/task.js';
import { requirementOf, taskIdOf } from './point-tasks.js';

export interface EarlierResultsReaderOptions {
  readonly studies: Pick<Studies, 'withFile' | 'find' | 'points'>;
  readonly archive: Pick<TaskArchive, 'withInput' | 'jobOf'>;
  readonly defaultVersion: string | null;
  readonly timers: Pick<Timers, 'soon'>;
}

/** Files of a job by which earlier computations are looked for. */
const MAX_FILES = 5;
/** Studies that are looked at, newest first. */
const MAX_STUDIES = 100;
/** Points of other studies that are looked at, newest study first. */
const MAX_POINTS = 100_000;
/** Tasks that are looked at for each file, newest first. */
const MAX_TASKS = 500;
/** Points that are read at a time: the hub does nothing else meanwhile. */
const PAGE = 1000;
/** Tasks that are looked at a time. */
const TASKS_AT_A_TIME = 50;

/** Rejects as the store does. */
export async function readEarlierResults(
  study: Study,
  options: EarlierResultsReaderOptions,
): Promise<EarlierResults> {
  const reading = new Reading(study, options);
  const files = distinct(filesOfJob(study.definition.job)).slice(0, MAX_FILES);
  await reading.readStudies(files);
  await reading.readTasks(files);
  return reading.results();
}

class Reading {
  readonly #study: Study;
  readonly #options: EarlierResultsReaderOptions;
  readonly #inputs: JobInputs;
  readonly #variables: WantedVariables;
  readonly #results: EarlierResult[] = [];
  readonly #bundled: BundledResult[] = [];
  #pointsLeft = MAX_POINTS;
  /** Tasks of points that were looked at. */
  readonly #seen = new Set<string>();
  #nearest: (InputDifference & { readonly of: string }) | undefined;

  constructor(study: Study, options: EarlierResultsReaderOptions) {
    this.#study = study;
    this.#options = options;
    const { job, variables } = study.definition;
    this.#inputs = this.#inputsOf(study);
    this.#variables = { fixed: variablesOf(job), names: variables.map(({ name }) => name) };
  }

  results(): EarlierResults {
    const nearest = this.#nearest;
    const missOfAll = nearest
      ? `${nearest.what} in the nearest earlier job, ${nearest.of}`
      : 'there is no earlier result with any of its files';
    const { names } = this.#variables;
    return new EarlierResults({ names, results: this.#results, bundled: this.#bundled, missOfAll });
  }

  async readStudies(files: readonly FileRef[]): Promise<void> {
    const { studies } = this.#options;
    const created = new Map<string, number>();
    for (const file of files) {
      const found = await studies.withFile(file, MAX_STUDIES);
      for (const { id, createdAtMs } of found) created.set(id, createdAtMs);
    }
    const newestFirst = [...created].sort(([, a], [, b]) => b - a).slice(0, MAX_STUDIES);
    for (const [id] of newestFirst) {
      const other = id === this.#study.id ? this.#study : await studies.find(id);
      if (!other) continue;
      const difference = firstDifference(this.#inputs, this.#inputsOf(other));
      if (difference) this.#note(difference, `study ${JSON.stringify(other.name)}`);
      else await this.#readPoints(other);
    }
  }

  async #readPoints(other: Study): Promise<void> {
    const { studies, timers } = this.#options;
    const valuesOf = sharedValues(this.#study, other);
    const fixed = variablesOf(other.definition.job);
    const names = other.definition.variables.map(({ name }) => name);
    const what = differenceOfAll(this.#variables, { fixed, names });
    if (what !== undefined) return this.#noteVariable(what, `study ${JSON.stringify(other.name)}`);
    for (let after = 0; this.#pointsLeft > 0; this.#pointsLeft -= PAGE) {
      const points = await studies.points(other.id, { after, limit: PAGE, outcomes: [] });
      for (const point of points) this.#addPoint(other, point, fixed, valuesOf);
      if (points.length < PAGE) return;
      after = points.at(-1)?.number ?? after;
      await new Promise<void>((resolve) => timers.soon(resolve));
    }
  }

  #addPoint(
    other: Study,
    point: Point,
    fixed: ReadonlyMap<string, string>,
    valuesOf: (point: Point) => EarlierResult['values'],
  ): void {
    // The task of another one, whose result does not meet the conditions of this study only.
    if (point.end?.outcome === 'RULE_FAILED' && point.end.source !== null) return;
    const taskId = point.end?.source ?? taskIdOf(other, point);
    this.#seen.add(taskId);
    if (point.end?.outcome !== 'FINISHED' && point.end?.outcome !== 'REUSED') return;
    const variables = new Map(fixed);
    for (const [index, { name }] of other.definition.variables.entries())
      variables.set(name, String(point.variables[index]));
    const compared = comparedVariables(this.#variables, variables);
    if (!('texts' in compared)) {
      this.#noteVariable(compared.what, `study ${JSON.stringify(other.name)}`);
      return;
    }
    const result = { taskId, variables: compared.texts };
    // Its task has the results of others as well.
    if (point.bundle !== null) this.#bundled.push(result);
    else this.#results.push({ ...result, values: valuesOf(point) });
  }

  async readTasks(files: readonly FileRef[]): Promise<void> {
    const { archive, timers } = this.#options;
    for (const file of files) {
      const { tasks } = await archive.withInput(file, MAX_TASKS);
      for (const [index, task] of tasks.entries()) {
        await this.#addTask(task);
        if (index % TASKS_AT_A_TIME === 0) await new Promise<void>((resolve) => timers.soon(resolve));
      }
    }
  }

  async #addTask(task: Task): Promise<void> {
    if (task.status !== 'FINISHED' || task.loan !== null || this.#seen.has(task.id)) return;
    this.#seen.add(task.id);
    const job = await this.#options.archive.jobOf(task.id);
    if (job?.type !== 'EXECUTE_BATCH_JOB' || job.points) return;
    const of = `task ${task.id}`;
    const difference = firstDifference(this.#inputs, inputsOf(job, task.requirement));
    if (difference) {
      this.#note(difference, of);
      return;
    }
    const compared = comparedVariables(this.#variables, variablesOf(job));
    if ('texts' in compared) this.#results.push({ taskId: task.id, variables: compared.texts, values: [] });
    else this.#noteVariable(compared.what, of);
  }

  #noteVariable(what: string, of: string): void {
    this.#note({ agreeing: this.#inputs.length, what }, of);
  }

  /** Notes a difference if its computation is nearer than those before. */
  #note(difference: InputDifference, of: string): void {
    if (difference.agreeing > (this.#nearest?.agreeing ?? -1)) this.#nearest = { ...difference, of };
  }

  #inputsOf(study: Study): JobInputs {
    return inputsOf(study.definition.job, requirementOf(study, this.#options.defaultVersion));
  }
}

function variablesOf({ variables }: BatchJob): Map<string, string> {
  return new Map(variables.map(({ key, value }) => [key, value]));
}

/** Values of points of `other`, as far as it has read the same as the rules of `study`, and found them. */
function sharedValues(study: Study, other: Study): (point: Point) => readonly (ReadValue | undefined)[] {
  const ruleOf = ({ kind, source, reader }: Study['definition']['values'][number]) =>
    JSON.stringify([kind, source, reader]);
  const theirs = other.definition.values.map(ruleOf);
  const places = study.definition.values.map((rule) => theirs.indexOf(ruleOf(rule)));
  return ({ end }) =>
    places.map((place) => {
      const value = end?.values[place];
      return value?.kind === 'MISSING' ? undefined : value;
    });
}

function distinct(files: readonly FileRef[]): FileRef[] {
  return [...new Map(files.map((file) => [file.digest, file])).values()];
}
