/** An instance program whose jobs do nothing. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lineOfPoint, POINTS_FILE } from '@workbench-hub/shared/domain/point-results';
import { serveProgram } from '@workbench-hub/shared/instance-protocol/program';

function lineOf({ number }: { readonly number: number }): string {
  return lineOfPoint({ number, status: 'OK', message: null, startedMs: 0, endedMs: 0, outputs: [] });
}

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await serveProgram(
  {
    name: 'idle',
    version: '1.0.0',
    isShareable: true,
    runs: { points: true },
    executeBatchJob: async ({ points, workingDirectory }) => {
      if (points) writeFileSync(join(workingDirectory, POINTS_FILE), points.map(lineOf).join(''));
      return { status: 'OK', startedProcesses: false };
    },
  },
  { stop: stop.signal },
);
process.exit(0);
