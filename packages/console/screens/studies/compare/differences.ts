/** Differences of points of a study. */
import type { StudyPoint } from '@workbench-hub/client';
import { type Column, stateOf } from '../points.js';

export interface Difference {
  /** Key of a column, or `outcome`, `message` or `runTime`. */
  readonly key: string;
  /** Undefined for what is no variable and no value. */
  readonly column: Column | undefined;
  /** Field of each point; milliseconds for the run time. */
  readonly fields: readonly (number | string | undefined)[];
}

export interface Compared {
  readonly differences: readonly Difference[];
  /** Names of the variables and values that are the same for all. */
  readonly same: readonly string[];
}

/** Fields in which points differ, and those in which they do not. */
export function compared(points: readonly StudyPoint[], columns: readonly Column[]): Compared {
  const ofColumns = columns.map((column) => ({
    key: column.key,
    column,
    fields: points.map((point) => column.of(point)),
  }));
  const others = [
    { key: 'outcome', fields: points.map(stateOf) },
    { key: 'message', fields: points.map(({ message }) => message) },
    { key: 'runTime', fields: points.map(runTimeMs) },
  ].map((each) => ({ ...each, column: undefined }));
  return {
    differences: [...ofColumns, ...others].filter(({ fields }) => !areSame(fields)),
    same: ofColumns.filter(({ fields }) => areSame(fields)).map(({ column }) => column.name),
  };
}

function areSame(fields: readonly unknown[]): boolean {
  return fields.every((field) => Object.is(field, fields[0]));
}

/** Time in milliseconds that the task of a point ran; undefined before its end, and when it never began. */
function runTimeMs({ startedAt, endedAt }: StudyPoint): number | undefined {
  return startedAt === undefined || endedAt === undefined
    ? undefined
    : Date.parse(endedAt) - Date.parse(startedAt);
}
