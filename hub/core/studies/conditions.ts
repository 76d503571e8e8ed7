/** Conditions on the values of a point. */
import type { ValidationError } from '../errors.js';
import type { ReadValue } from './values/read-value.js';
import type { ValueRule } from './values/value-rules.js';

/** Bounds of a value, both inclusive; null for none. */
export interface ValueCondition {
  readonly value: string;
  readonly lower: number | null;
  readonly upper: number | null;
}

/** Validation errors of the conditions in the request field `field`. */
export function conditionErrors(
  field: string,
  conditions: readonly ValueCondition[],
  values: readonly ValueRule[],
): ValidationError[] {
  return conditions.flatMap(({ value: name, lower, upper }, index) => {
    const where = `${field}[${index}]`;
    const rule = values.find((each) => each.name === name);
    if (!rule) return [{ where: `${where}.value`, what: `must be the name of a value; there is no ${name}` }];
    if (rule.kind === 'TEXT' && (lower !== null || upper !== null)) {
      return [{ where, what: `must have no bounds, as ${name} is a text` }];
    }
    if (lower !== null && upper !== null && lower > upper) {
      return [{ where: `${where}.upper`, what: `must be at least ${lower}, the lower bound` }];
    }
    return [];
  });
}

/** Reason why a condition does not hold; undefined when it does. */
export function conditionFault(
  { value: name, lower, upper }: ValueCondition,
  rules: readonly ValueRule[],
  values: readonly ReadValue[],
): string | undefined {
  const read = values[rules.findIndex((rule) => rule.name === name)];
  if (read === undefined || read.kind === 'MISSING')
    return `${name} is missing: ${read?.reason ?? 'it was not read'}`;
  if (read.kind === 'TEXT') return undefined;
  const { value } = read;
  if (Number.isNaN(value)) return `${name} is not a number`;
  if (lower !== null && value < lower) return `${name} is ${value}, less than ${lower}`;
  if (upper !== null && value > upper) return `${name} is ${value}, more than ${upper}`;
  return undefined;
}
