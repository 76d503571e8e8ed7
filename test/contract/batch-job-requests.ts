/** Requests to create a batch job, each about one of its parts. */
import { base64 } from '../support/interface/api.js';

export const PATH = '/api/2.0/workbench/task/execute-batch-job/create';
export const SCRIPT = { content: base64('print(1)') };

export const reference = (...parameters: [string, unknown][]) => ({
  inputScripts: [SCRIPT],
  inputModelReference: {
    type: 'LOCAL_FILESYSTEM',
    parameters: parameters.map(([key, value]) => ({ key, value })),
  },
});
export const model = (type: unknown, content: unknown = base64('m')) => ({
  inputScripts: [SCRIPT],
  inputModel: { type, content },
});
export const files = (...names: unknown[]) => ({
  inputScripts: [SCRIPT],
  additionalFiles: names.map((filename) => ({ filename, content: base64('x') })),
});
export const variables = (...keys: unknown[]) => ({
  inputScripts: [SCRIPT],
  variablesToInject: keys.map((key) => ({ key, value: 'x' })),
});
