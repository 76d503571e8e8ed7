/** Names of programs, for instance programs that start some. */
// biome-ignore lint/performance/noBarrelFile: instance programs import this folder only
export { withVariables } from '../runtime/environment-variables.js';
export { namesOfProgram, pathOf } from '../runtime/program-names.js';
