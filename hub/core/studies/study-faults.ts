/** Validation of a study, but for its job. */
import { variableErrors } from '../batch-job.js';
import type { ValidationError } from '../errors.js';
import { planned, type StudyPlan } from './plans.js';
import type { StudyDefinition, SuccessCondition } from './study.js';
import { type ReaderSyntax, type ValueRule, valueRuleFaults } from './values/value-rules.js';
import { variableFaults } from './variables.js';

/** Variables that a study may have. */
const MAX_VARIABLES = 100;

/** Columns of the points that no value may be named after. */
const COLUMNS = ['point', 'outcome', 'task', 'tries', 'message'];

export type StudyRules = Pick<StudyDefinition, 'variables' | 'values' | 'success'>;

export interface StudyLimits {
  readonly maxPoints: number;
  readonly syntax: ReaderSyntax;
}

/** Validation errors of a study, or the number of its points. `fixed` are the names of the variables of its job. */
export function checkedStudy(
  { variables, values, success }: StudyRules,
  plan: StudyPlan,
  fixed: readonly string[],
  { maxPoints, syntax }: StudyLimits,
): { readonly errors: readonly ValidationError[] } | { readonly pointCount: number } {
  if (variables.length > MAX_VARIABLES) {
    return { errors: [{ where: 'variables', what: `must be at most ${MAX_VARIABLES}` }] };
  }
  const errors = [
    ...variableErrors(variables.map(({ name }) => ({ key: name }))).map(({ where, what }) => ({
      where: where.replace('variablesToInject', 'variables').replace(/\.key$/, '.name'),
      what,
    })),
    ...variables.flatMap(({ name }, index) =>
      fixed.includes(name)
        ? [{ where: `variables[${index}].name`, what: `must not be in variablesToInject, too: ${name}` }]
        : [],
    ),
    ...variableFaults(variables),
    ...valueRuleFaults(values, new Set([...COLUMNS, ...variables.map(({ name }) => name)]), syntax),
    ...successFaults(success, values),
  ];
  if (errors.length > 0) return { errors };
  const result = planned(variables, plan, maxPoints);
  return 'errors' in result ? result : { pointCount: result.points.count };
}

function successFaults(
  success: readonly SuccessCondition[],
  values: readonly ValueRule[],
): ValidationError[] {
  return success.flatMap(({ value: name, lower, upper }, index) => {
    const where = `success[${index}]`;
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
