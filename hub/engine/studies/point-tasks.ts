/** Tasks of points. */
import { createHash } from 'node:crypto';
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import type { OpenPoint } from '../../core/ports/studies.js';
import type { Study } from '../../core/studies/study.js';
import { textOf } from '../../core/studies/variables.js';
import type { NewTask, Task } from '../../core/task.js';
import { newTask } from '../tasks/new-task.js';

/** Id of the task of a try: a UUID of version 7 that follows from study, number and try, so that every hub knows it, and none creates a
 *  second one. */
export function taskIdOf(
  { id, createdAtMs }: Pick<Study, 'id' | 'createdAtMs'>,
  { number, tries }: Pick<OpenPoint, 'number' | 'tries'>,
): Task['id'] {
  const bytes = createHash('sha256').update(`${id}/${number}/${tries}`).digest().subarray(0, 16);
  bytes.writeUIntBE(createdAtMs, 0, 6);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Requirement of the tasks of a study that are created now. */
export function requirementOf(study: Study, defaultVersion: string | null): Requirement {
  const point = { number: 0, tries: 0, variables: [] };
  return taskOfPoint(study, point, { nowMs: study.createdAtMs, defaultVersion }).requirement;
}

export function taskOfPoint(
  study: Study,
  point: OpenPoint,
  { nowMs, defaultVersion }: { readonly nowMs: number; readonly defaultVersion: string | null },
): NewTask {
  const { name, creator, definition } = study;
  const { classifiers, timeLimitS, job, variables } = definition;
  const varied = variables.map(({ name: key }, index) => ({
    key,
    value: textOf(point.variables[index] ?? ''),
  }));
  const request = {
    name: `${name} #${point.number}`,
    creator,
    classifiers,
    timeLimitS,
    job: { ...job, variables: [...job.variables, ...varied] },
    study: { id: study.id, point: point.number },
  };
  return newTask(request, { id: taskIdOf(study, point), nowMs, defaultVersion });
}
