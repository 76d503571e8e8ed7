/** The file out of the output storage. */
import { jobWithOutput, OUTPUT } from './ended-job.js';
import { receive } from './http.js';
import { pace, type StorageWay } from './storage-way.js';

export const download: StorageWay = {
  name: 'download',
  measure: async (stage) => {
    const { hub, sizeBytes } = stage;
    const id = await jobWithOutput(stage, 'storedFiles');
    const began = performance.now();
    const bytes = await receive(`${hub.baseUrl}/api/2.0/storage/output/${id}-${OUTPUT}/download`);
    const ms = performance.now() - began;
    if (bytes !== sizeBytes) throw new Error(`the download has ${bytes} bytes`);
    return [pace('download', sizeBytes, ms)];
  },
};
