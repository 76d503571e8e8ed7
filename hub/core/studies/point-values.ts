/** Values of a point by the names of the variables, as a client gives them. */

import type { ValidationError } from '../errors.js';
import { type PointValue, type StudyVariable, valueFault } from './variables.js';

export type PointValues = Readonly<Record<string, PointValue>>;

/** Names that a message shows at most. */
const MAX_NAMES_SHOWN = 10;
/** Characters of an unknown name that a message shows at most. */
const MAX_NAME_CHARACTERS_SHOWN = 60;

/** Validation errors of the values of a point: unknown variables, missing ones, values that are not allowed. */
export function* pointFaults(
  variables: readonly StudyVariable[],
  values: PointValues,
  where: string,
): Generator<ValidationError> {
  for (const variable of variables) {
    const { name } = variable;
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    const what = value === undefined ? 'must have a value' : valueFault(variable, value);
    if (what !== undefined) yield { where: `${where}.${name}`, what };
  }
  const known = new Set(variables.map(({ name }) => name));
  for (const name of Object.keys(values)) {
    if (!known.has(name)) yield { where, what: unknownVariable(name, variables) };
  }
}

/** Clause about a name that is no variable; it shows the names that are allowed. */
export function unknownVariable(name: string, variables: readonly StudyVariable[]): string {
  const names = variables.slice(0, MAX_NAMES_SHOWN).map((variable) => variable.name);
  const more = variables.length - names.length;
  const allowed = names.join(', ') + (more > 0 ? ` and ${more} more` : '');
  const shown = JSON.stringify(name.slice(0, MAX_NAME_CHARACTERS_SHOWN));
  return `names ${shown}, which is no variable of the study (${allowed})`;
}

/** Values in the order of the variables, from values without errors. */
export function inOrder(variables: readonly StudyVariable[], values: PointValues): PointValue[] {
  return variables.map(({ name }) => values[name] as PointValue);
}
