/** Values of studies, read at once in the calling thread: for tests and simulations, which start no processes. */

import type { OutputValues } from '../core/ports/output-values.js';
import { jsonPathFault } from './json-paths.js';
import { patternFault } from './patterns.js';
import { readValues } from './read-values.js';

export const outputValues: OutputValues = {
  jsonPathFault,
  patternFault,
  readValues: async (rules, content) => readValues(rules, content),
};
