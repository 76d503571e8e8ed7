/** Tasks of points: of one point, or of those of a bundle (decision 0088). */
import { createHash } from 'node:crypto';
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import type { Variable } from '@workbench-hub/shared/domain/job';
import type { OpenPoint } from '../../core/ports/studies.js';
import type { BegunPoint, Study } from '../../core/studies/study.js';
import { textOf } from '../../core/studies/variables.js';
import type { NewTask, Task } from '../../core/task.js';
import { newTask } from '../tasks/new-task.js';

/** Characters of the variables of a bundle, as JSON. */
const MAX_BUNDLE_CHARACTERS = 256 * 1024;

/** Some thirty years: in milliseconds a number that messages can have. */
const MAX_TIME_LIMIT_S = 1e9;

/** Open points of one task, by number: a single one, or all that are left of a bundle. */
export type PointGroup = readonly [OpenPoint, ...OpenPoint[]];

/** Points by number, by their tasks. */
export function groupsOf(points: readonly OpenPoint[]): PointGroup[] {
  const groups: [OpenPoint, ...OpenPoint[]][] = [];
  const bundles = new Map<number, OpenPoint[]>();
  for (const point of points) {
    const members = point.bundle === null ? undefined : bundles.get(point.bundle);
    if (members) {
      members.push(point);
      continue;
    }
    const group: [OpenPoint, ...OpenPoint[]] = [point];
    groups.push(group);
    if (point.bundle !== null) bundles.set(point.bundle, group);
  }
  return groups;
}

/** The next points, of which the first has this number, in bundles of so many at most, and of some characters: a job has the values of all,
 *  with the names of the variables. */
export function bundled(
  points: readonly BegunPoint[],
  first: number,
  { size, names }: { readonly size: number; readonly names: readonly string[] },
): BegunPoint[] {
  const nameCharacters = JSON.stringify(names).length;
  let bundle = { first: 0, count: size, characters: 0 };
  const numbers = points.map(({ variables, end }, index) => {
    if (end) return null;
    const characters = nameCharacters + JSON.stringify(variables).length;
    const isFull = bundle.count >= size || bundle.characters + characters > MAX_BUNDLE_CHARACTERS;
    if (isFull) bundle = { first: first + index, count: 0, characters: 0 };
    bundle = { ...bundle, count: bundle.count + 1, characters: bundle.characters + characters };
    return bundle.first;
  });
  const several = new Set(numbers.filter((number, index) => number !== null && number !== first + index));
  return points.map((point, index) => {
    const number = numbers[index] ?? null;
    return { ...point, bundle: several.has(number) ? number : null };
  });
}

/** Id of the task of a try: a UUID of version 7 that follows from study, number and try, or from study and bundle, so that every hub knows
 *  it, and none creates a second one. */
export function taskIdOf(
  { id, createdAtMs }: Pick<Study, 'id' | 'createdAtMs'>,
  { number, tries, bundle }: Pick<OpenPoint, 'number' | 'tries' | 'bundle'>,
): Task['id'] {
  const name = bundle === null ? `${id}/${number}/${tries}` : `${id}/${bundle}/bundle`;
  const bytes = createHash('sha256').update(name).digest().subarray(0, 16);
  bytes.writeUIntBE(createdAtMs, 0, 6);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Requirement of the tasks of a study that are created now. */
export function requirementOf(study: Study, defaultVersion: string | null): Requirement {
  const point = { number: 0, tries: 0, variables: [], bundle: null };
  return taskOf(study, [point], { nowMs: study.createdAtMs, defaultVersion }).requirement;
}

export function taskOf(
  study: Study,
  group: PointGroup,
  { nowMs, defaultVersion }: { readonly nowMs: number; readonly defaultVersion: string | null },
): NewTask {
  const { name, creator, definition } = study;
  const [first] = group;
  const last = group.at(-1) ?? first;
  const isBundle = first.bundle !== null;
  const request = {
    name: isBundle ? `${name} #${first.number} to #${last.number}` : `${name} #${first.number}`,
    creator,
    classifiers: definition.classifiers,
    ...(isBundle ? workOfBundle(study, group) : workOfPoint(study, first)),
    study: { id: study.id, point: first.number },
  };
  return newTask(request, { id: taskIdOf(study, first), nowMs, defaultVersion });
}

function workOfPoint({ definition }: Study, point: OpenPoint) {
  const { job, timeLimitS } = definition;
  return { timeLimitS, job: { ...job, variables: [...job.variables, ...variablesOf(definition, point)] } };
}

/** Job of a bundle. The program sees to the time limit of each point, and the agent to that of all. */
function workOfBundle({ definition }: Study, group: PointGroup) {
  const { job, timeLimitS } = definition;
  const points = group.map((point) => ({
    number: point.number,
    variables: variablesOf(definition, point),
  }));
  if (timeLimitS === null) return { timeLimitS, job: { ...job, points } };
  const all = Math.min(timeLimitS * (group.length + 1), MAX_TIME_LIMIT_S);
  return {
    timeLimitS: Math.max(all, timeLimitS),
    job: { ...job, points, pointLimitMs: Math.round(timeLimitS * 1000) },
  };
}

function variablesOf({ variables }: Study['definition'], point: OpenPoint): Variable[] {
  return variables.map(({ name: key }, index) => ({ key, value: textOf(point.variables[index] ?? '') }));
}
