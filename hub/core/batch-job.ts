/** Validation of an execute-batch-job request, as far as it needs no I/O (contract 3.5 to 3.7). */

import { type Job, MAX_JOB_BYTES } from '@workbench-hub/shared/domain/job';
import { pathConflict, RESERVED_PREFIX, relativePathFault } from '@workbench-hub/shared/domain/relative-path';
import type { ValidationError } from './errors.js';

export const MAX_VARIABLE_KEY_LENGTH = 128;

/** Reserved words of ECMAScript, and constants that cannot be redefined. */
const RESERVED_WORDS = new Set(
  (
    'break case catch class const continue debugger default delete do else enum export extends false finally for ' +
    'function if import in instanceof new null return super switch this throw true try typeof var void while with ' +
    'yield let static implements interface package private protected public await arguments eval undefined NaN Infinity'
  ).split(' '),
);

/** Name of the staged model: `model.wbpz`. */
export function modelFileName(modelType: string): string {
  return `model.${modelType.toLowerCase()}`;
}

/** Validation errors of the names of variables (contract 3.6). */
export function variableErrors(variables: readonly { key: string }[]): ValidationError[] {
  const errors: ValidationError[] = [];
  const seen = new Set<string>();
  for (const [index, { key }] of variables.entries()) {
    const where = `variablesToInject[${index}].key`;
    if (key.length > MAX_VARIABLE_KEY_LENGTH) {
      errors.push({ where, what: `must have at most ${MAX_VARIABLE_KEY_LENGTH} characters` });
    } else if (!/^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u.test(key)) {
      errors.push({
        where,
        what: 'must be an ECMAScript identifier: letters, digits, $ and _, not a digit first',
      });
    } else if (RESERVED_WORDS.has(key)) {
      errors.push({
        where,
        what: `must be a name that a script can use; ${key} is reserved by the language`,
      });
    } else if (seen.has(key)) {
      errors.push({ where, what: 'is given more than once' });
    }
    seen.add(key);
  }
  return errors;
}

/** Error in the name of a file of a job (contract 3.5), written as "must …"; undefined for none. */
export function filenameFault(filename: string): string | undefined {
  const fault = relativePathFault(filename);
  if (fault !== undefined || !filename.startsWith(RESERVED_PREFIX)) return fault;
  return `must not begin with "${RESERVED_PREFIX}", which workbenches use`;
}

/** Validation errors of the paths of additional files beside the staged model, if any (contract 3.5). */
export function additionalFileErrors(paths: readonly string[], modelPath: string | null): ValidationError[] {
  const errors: ValidationError[] = [];
  const at = (index: number) => `additionalFiles[${index}].filename`;
  for (const [index, path] of paths.entries()) {
    const fault = filenameFault(path);
    if (fault) errors.push({ where: at(index), what: fault });
  }
  if (errors.length > 0) return errors;
  const conflict = pathConflict(modelPath === null ? paths : [modelPath, ...paths]);
  if (!conflict) return [];
  const index = modelPath === null ? conflict.index : conflict.index - 1;
  const taken =
    modelPath !== null && (paths[index] === modelPath || paths[index]?.startsWith(`${modelPath}/`));
  return [
    { where: at(index), what: taken ? `is the name of the staged model (${modelPath})` : conflict.fault },
  ];
}

/** Size limit of a job description, which is sent to the agent in one message. */
export function jobSizeErrors(job: Job): ValidationError[] {
  const bytes = Buffer.byteLength(JSON.stringify(job));
  if (bytes <= MAX_JOB_BYTES) return [];
  return [
    {
      where: 'variablesToInject, additionalFiles',
      what: `names and values take ${bytes} bytes together, at most ${MAX_JOB_BYTES} are allowed; put large values into an additional file`,
    },
  ];
}
