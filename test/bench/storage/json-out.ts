/** The result of a batch job whose output is the file, in one JSON response. */
import { jobWithOutput } from './ended-job.js';
import { receive } from './http.js';
import { pace, type StorageWay } from './storage-way.js';

export const jsonOut: StorageWay = {
  name: 'JSON out',
  measure: async (stage) => {
    const { hub, sizeBytes } = stage;
    const id = await jobWithOutput(stage, 'outputFiles');
    const began = performance.now();
    const bytes = await receive(`${hub.baseUrl}/api/2.0/workbench/task/execute-batch-job/${id}/result`);
    const ms = performance.now() - began;
    if (bytes < (sizeBytes / 3) * 4) throw new Error(`the result has only ${bytes} bytes`);
    return [pace('JSON out', sizeBytes, ms)];
  },
};
