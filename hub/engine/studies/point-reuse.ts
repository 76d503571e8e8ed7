/** Reuse of earlier results by the points of a study (decision 0086). */
import { type Requirement, requirementKey } from '@workbench-hub/shared/domain/classifier';
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Invalidations } from '../../core/ports/invalidations.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { EarlierResult, FoundResults } from '../../core/studies/reuse/earlier-results.js';
import { type Invalidation, invalidationOf, namedResults } from '../../core/studies/reuse/invalidation.js';
import type { Study } from '../../core/studies/study.js';
import type { ReadValue } from '../../core/studies/values/read-value.js';
import type { Task } from '../../core/task.js';
import { requirementOf } from './point-tasks.js';
import { type PointValuesOptions, pointValues } from './point-values.js';

/** Version and revision of a workbench. */
export interface WorkbenchBuild {
  readonly version: string;
  readonly revision: string;
}

export interface PointReuseOptions extends PointValuesOptions {
  readonly archive: Pick<TaskArchive, 'find' | 'filesOf'>;
  readonly invalidations: Pick<Invalidations, 'list'>;
  readonly defaultVersion: string | null;
  /** Builds of the known instances that fit a requirement. */
  readonly buildsFor: (requirement: Requirement) => readonly WorkbenchBuild[];
}

export type Reuse =
  | { readonly source: Task; readonly values: readonly ReadValue[] }
  | { readonly miss: string };

/** Results with the values of a point that are looked at, of which usually the first can be reused. */
const MAX_RESULTS = 10;

/** Points whose results are checked at the same time; and those whose outputs are in memory at the same time, to be read. */
const CHECKED_AT_A_TIME = 100;
const READ_AT_A_TIME = 8;
/** Points after which a batch ends if outputs were read: other studies wait for it. */
const MAX_READ = 64;

/** The earlier result that each of the first points can have of those that were found for it; at least one point, and those that are looked
 *  at until more than `most` have none, or many outputs were read. Rejects as the store and `readValues` do. */
export async function reuses(
  study: Study,
  found: readonly FoundResults[],
  most: number,
  options: PointReuseOptions,
): Promise<readonly Reuse[]> {
  const isAny = found.some((each) => 'results' in each);
  const invalid = isAny ? await options.invalidations.list() : [];
  const reused: Reuse[] = [];
  let [misses, isRead] = [0, false];
  while (reused.length < found.length && misses <= most && !(isRead && reused.length >= MAX_READ)) {
    const next = found.slice(reused.length, reused.length + CHECKED_AT_A_TIME);
    const hasUnread = next.some((each) => mayBeRead(study, each));
    const some = hasUnread ? next.slice(0, READ_AT_A_TIME) : next;
    isRead ||= hasUnread;
    const checked = some.map((each) =>
      'miss' in each ? each : firstUsable(study, each.results, invalid, options),
    );
    const results = await Promise.all(checked);
    reused.push(...results);
    misses += results.filter((each) => 'miss' in each).length;
  }
  return reused;
}

/** Whether a result that was found lacks values of the study. */
function mayBeRead({ definition: { values: rules } }: Study, found: FoundResults): boolean {
  const isLacking = ({ values }: EarlierResult) => rules.some((_, index) => values[index] === undefined);
  return 'results' in found && found.results.slice(0, MAX_RESULTS).some(isLacking);
}

async function firstUsable(
  study: Study,
  results: readonly EarlierResult[],
  invalid: readonly Invalidation[],
  options: PointReuseOptions,
): Promise<Reuse> {
  let miss: string | undefined;
  for (const result of results.slice(0, MAX_RESULTS)) {
    const task = await options.archive.find(result.taskId);
    const why = faultOf(study, task, invalid, options);
    const values = task && why === undefined ? await valuesOf(study, result, task, options) : [];
    const lost = values.find((value) => value.kind === 'MISSING' && value.isLost);
    if (task && why === undefined && !lost) return { source: task, values };
    const reason = lost?.kind === 'MISSING' ? lost.reason : why;
    miss ??= `the result of task ${result.taskId} cannot be reused: ${reason}`;
  }
  return { miss: miss ?? '' };
}

/** Reason why the result of a task cannot be reused; undefined when it can. */
function faultOf(
  study: Study,
  task: Task | undefined,
  invalid: readonly Invalidation[],
  { buildsFor, defaultVersion }: PointReuseOptions,
): string | undefined {
  if (!task) return 'it has been deleted';
  const { instance } = task;
  if (task.status !== 'FINISHED' || !instance) return 'it has not finished';
  const invalidation = invalidationOf(task, invalid);
  if (invalidation) {
    return `results up to ${offsetTimestamp(invalidation.atMs)} are invalid, ${namedResults(invalidation.of)}`;
  }
  // The default version may have been another one when the task was created.
  const requirement = requirementOf(study, defaultVersion);
  if (requirementKey(task.requirement) !== requirementKey(requirement)) {
    const { version } = task.requirement;
    return `it required ${version === null ? 'any version' : `version ${version}`}, by a default that has changed since`;
  }
  const builds = buildsFor(requirement);
  const isBuild = builds.some(
    ({ version, revision }) => version === instance.version && revision === instance.revision,
  );
  if (isBuild) return undefined;
  const known = [...new Set(builds.map(inWords))].join('; ');
  return `it is of ${inWords(instance)}, and ${known === '' ? 'no known instance fits' : `the instances that fit are of ${known}`}`;
}

function inWords({ version, revision }: WorkbenchBuild): string {
  return `version ${version}, revision ${revision}`;
}

/** Values in the order of the rules: those that were read before, and the others from the outputs. */
async function valuesOf(
  { definition: { values: rules } }: Study,
  { values: known }: EarlierResult,
  task: Task,
  options: PointReuseOptions,
): Promise<readonly ReadValue[]> {
  const others = rules.filter((_, index) => known[index] === undefined);
  if (others.length === 0) return known as readonly ReadValue[];
  const read = await pointValues(others, await options.archive.filesOf(task.id), options);
  return rules.map((rule, index) => known[index] ?? (read[others.indexOf(rule)] as ReadValue));
}
