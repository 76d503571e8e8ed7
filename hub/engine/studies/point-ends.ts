/** Ends of points by the end of their task. */
import {
  contentOfOutput,
  maxPointsFileBytes,
  POINTS_FILE,
  type PointResult,
  pointResults,
} from '@workbench-hub/shared/domain/point-results';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { EndedPoint } from '../../core/ports/studies.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import { type EndedTask, endOf } from '../../core/studies/point-outcome.js';
import type { Study } from '../../core/studies/study.js';
import type { ReadValue } from '../../core/studies/values/read-value.js';
import type { Task } from '../../core/task.js';
import type { PointGroup } from './point-tasks.js';
import {
  noFile,
  type PointValuesOptions,
  pointValues,
  type ReadSource,
  textOfSource,
  valuesFrom,
} from './point-values.js';

export interface PointEndsOptions extends PointValuesOptions {
  readonly archive: Pick<TaskArchive, 'filesOf'>;
  readonly runtime: { readonly timers: Pick<Timers, 'soon'> };
}

/** Points whose values are read before others get their turn. */
const READ_AT_A_TIME = 10;

/** The ends of the points of a task that has ended. Those of a bundle that have none were not run, and get tasks of their own. Rejects
 *  as the store and `readValues` do. */
export async function endsOf(
  study: Study,
  group: PointGroup,
  task: Task,
  options: PointEndsOptions,
): Promise<readonly EndedPoint[]> {
  const [{ number, tries, bundle }] = group;
  if (bundle === null) {
    const values = await valuesOfTask(study, task, options);
    return [{ number, tries, ...endOf(task, study.definition, values) }];
  }
  if (task.status === 'CANCELED') {
    return group.map((point) => ({
      number: point.number,
      tries: point.tries,
      ...endOf(task, study.definition, []),
    }));
  }
  return task.status === 'FINISHED' ? endsOfBundle(study, group, task, options) : [];
}

async function valuesOfTask(
  { definition: { values: rules } }: Study,
  task: Task,
  options: PointEndsOptions,
): Promise<readonly ReadValue[]> {
  if (task.status !== 'FINISHED' || rules.length === 0) return [];
  return pointValues(rules, await options.archive.filesOf(task.id), options);
}

async function endsOfBundle(
  study: Study,
  group: PointGroup,
  task: Task,
  options: PointEndsOptions,
): Promise<readonly EndedPoint[]> {
  const files = await options.archive.filesOf(task.id);
  const sizeBytes = files.outputFiles.find(({ path }) => path === POINTS_FILE)?.sizeBytes ?? 0;
  if (sizeBytes > maxPointsFileBytes(group.length)) return [];
  const text = await textOfSource({ kind: 'FILE', path: POINTS_FILE }, files, options.files);
  if ('reason' in text) return [];
  const numbers = group.map(({ number }) => number);
  const results = pointResults(Buffer.from(text.content).toString(), numbers);
  const ended: EndedPoint[] = [];
  for (const [index, { number, tries }] of group.entries()) {
    const result = results.get(number);
    if (result) ended.push({ number, tries, ...(await endOfResult(study, task, result, options)) });
    if (index % READ_AT_A_TIME === READ_AT_A_TIME - 1)
      await new Promise<void>((resolve) => options.runtime.timers.soon(resolve));
  }
  return ended;
}

/** The end of a point by its result: as if its task had ended in this way, and at this time. */
async function endOfResult(
  { definition }: Study,
  task: Task,
  result: PointResult,
  { outputValues }: PointEndsOptions,
): Promise<Omit<EndedPoint, 'number' | 'tries'>> {
  const isFinished = result.status === 'OK';
  const values = isFinished ? await valuesFrom(definition.values, outputsOf(result), outputValues) : [];
  const beganAtMs = task.startedAtMs ?? task.requestedAtMs;
  // The agent's clock may run faster.
  const atMs = (offsetMs: number) =>
    Math.min(Math.round(beganAtMs + offsetMs), task.endedAtMs ?? Number.POSITIVE_INFINITY);
  const ownTask: EndedTask = {
    status: isFinished ? 'FINISHED' : 'FAILED',
    batchExecutionStatus: task.batchExecutionStatus,
    message: result.message,
    requestedAtMs: task.requestedAtMs,
    startedAtMs: atMs(result.startedMs),
    endedAtMs: atMs(result.endedMs),
  };
  return endOf(ownTask, definition, values);
}

function outputsOf({ outputs }: PointResult): ReadSource {
  return async (source) => {
    if (source.kind === 'LOG') return { reason: 'the log of a bundle is not that of one point' };
    const output = outputs.find(({ path }) => path === source.path);
    return output ? { content: contentOfOutput(output) } : { reason: noFile(source.path) };
  };
}
