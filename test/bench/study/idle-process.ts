/** An instance program whose jobs do nothing. */
import { serveProgram } from '@workbench-hub/shared/instance-protocol/program';

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await serveProgram(
  {
    name: 'idle',
    version: '1.0.0',
    isShareable: true,
    executeBatchJob: async () => ({ status: 'OK', startedProcesses: false }),
  },
  { stop: stop.signal },
);
process.exit(0);
