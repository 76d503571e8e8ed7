/** Validation of a study, but for its job. */
import { variableErrors } from '../batch-job.js';
import type { ValidationError } from '../errors.js';
import { conditionErrors } from './conditions.js';
import { planned, type StudyPlan } from './plans.js';
import type { StudyDefinition } from './study.js';
import { type ReaderSyntax, valueRuleFaults } from './values/value-rules.js';
import { variableFaults } from './variables.js';

/** Variables that a study may have. */
const MAX_VARIABLES = 100;

/** Columns of the points that no value may be named after. */
const COLUMNS = ['point', 'outcome', 'task', 'tries', 'message'];

const LOG_OF_BUNDLE = {
  where: 'bundle',
  what: 'must not be true with values from the log: points of a bundle have one log together',
};

export type StudyRules = Pick<StudyDefinition, 'variables' | 'values' | 'success' | 'stopWhen' | 'bundle'>;

export interface StudyLimits {
  readonly maxPoints: number;
  readonly syntax: ReaderSyntax;
}

/** Validation errors of a study, or the number of its points. `fixed` are the names of the variables of its job. */
export function checkedStudy(
  { variables, values, success, stopWhen, bundle }: StudyRules,
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
    ...conditionErrors('success', success, values),
    ...conditionErrors('stopWhen', stopWhen, values),
    ...(bundle && values.some(({ source }) => source.kind === 'LOG') ? [LOG_OF_BUNDLE] : []),
  ];
  if (errors.length > 0) return { errors };
  const result = planned(variables, plan, maxPoints);
  return 'errors' in result ? result : { pointCount: result.points.count };
}
