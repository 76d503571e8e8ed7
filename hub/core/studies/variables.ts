/** Variables of a study, and the rules for their values. */

import type { ValidationError } from '../errors.js';

export type VariableKind = 'NUMBER' | 'INTEGER' | 'TEXT';
export type PointValue = number | string;

/** Longest text of a variable: the job of a point has all of its values. */
const MAX_TEXT_LENGTH = 10_000;

/** Variable of a study; its name is checked like that of a variable of a job (core/batch-job.ts). */
export interface StudyVariable {
  readonly name: string;
  readonly kind: VariableKind;
  readonly unit: string | null;
  /** Lower bound, inclusive; null for none, and for TEXT. */
  readonly lower: number | null;
  /** Upper bound, inclusive; null for none, and for TEXT. */
  readonly upper: number | null;
  readonly scale: 'LINEAR' | 'LOGARITHMIC';
}

/** Validation errors of variables except those of their names, with places such as `variables[2].lower`. */
export function variableFaults(variables: readonly StudyVariable[]): ValidationError[] {
  return variables.flatMap((variable, index) => {
    const where = `variables[${index}]`;
    return variable.kind === 'TEXT' ? textFaults(variable, where) : boundFaults(variable, where);
  });
}

/** Error in a value of a variable, written as "must …"; undefined for none. */
export function valueFault(variable: StudyVariable, value: PointValue): string | undefined {
  if (variable.kind === 'TEXT') {
    if (typeof value !== 'string') return `must be a text, as ${variable.name} is a TEXT`;
    return value.length > MAX_TEXT_LENGTH ? `must have at most ${MAX_TEXT_LENGTH} characters` : undefined;
  }
  const fault = numberFault(variable, value);
  if (fault !== undefined) return fault;
  if (variable.lower !== null && Number(value) < variable.lower) {
    return `must be at least ${variable.lower}, the lower bound of ${variable.name}`;
  }
  if (variable.upper !== null && Number(value) > variable.upper) {
    return `must be at most ${variable.upper}, the upper bound of ${variable.name}`;
  }
  return undefined;
}

/** Text of a value as a script gets it; for a number the shortest decimal that reads back as the same number. */
export function textOf(value: PointValue): string {
  return String(value);
}

function textFaults(variable: StudyVariable, where: string): ValidationError[] {
  const errors: ValidationError[] = [];
  for (const bound of ['lower', 'upper'] as const) {
    if (variable[bound] !== null) {
      errors.push({ where: `${where}.${bound}`, what: 'must be null, as a TEXT has no bounds' });
    }
  }
  if (variable.scale !== 'LINEAR') {
    errors.push({ where: `${where}.scale`, what: 'must be LINEAR for a TEXT' });
  }
  return errors;
}

function boundFaults(variable: StudyVariable, where: string): ValidationError[] {
  const errors: ValidationError[] = [];
  for (const bound of ['lower', 'upper'] as const) {
    const value = variable[bound];
    const what = value === null ? undefined : boundFault(variable, value);
    if (what !== undefined) errors.push({ where: `${where}.${bound}`, what });
  }
  const { lower, upper } = variable;
  if (errors.length > 0 || lower === null || upper === null) return errors;
  if (lower > upper) {
    errors.push({ where: `${where}.upper`, what: `must be at least ${lower}, the lower bound` });
  } else if (!Number.isFinite(upper - lower)) {
    errors.push({ where: `${where}.upper`, what: `must be closer to ${lower}, the lower bound` });
  }
  return errors;
}

function boundFault(variable: StudyVariable, bound: number): string | undefined {
  const fault = numberFault(variable, bound);
  if (fault !== undefined) return fault;
  if (variable.scale === 'LOGARITHMIC' && bound <= 0) {
    return 'must be greater than 0 on a logarithmic scale';
  }
  return undefined;
}

function numberFault({ name, kind }: StudyVariable, value: PointValue): string | undefined {
  if (kind === 'INTEGER') {
    if (Number.isSafeInteger(value)) return undefined;
    return `must be a whole number within ±${Number.MAX_SAFE_INTEGER}, as ${name} is an INTEGER`;
  }
  return Number.isFinite(value) ? undefined : `must be a finite number, as ${name} is a NUMBER`;
}
