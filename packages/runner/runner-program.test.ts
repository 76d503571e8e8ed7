import { layOutJob } from '@workbench-hub/shared/instance-protocol/program-under-test';
import { expect, it } from 'vitest';
import { runnerProgram } from './runner-program.js';
import { nodeOfRunner } from './script-node.js';
import { posix } from './systems/host-system.js';

it.skipIf(process.platform === 'win32')(
  'begins no further script after a cancel, though the one that ran ended well',
  async () => {
    const folder = await layOutJob({
      scripts: ["trap 'exit 0' TERM; echo obedient; while :; do sleep 0.01; done"],
    });
    const program = runnerProgram('1', { command: 'sh', args: [] }, nodeOfRunner, posix);
    const abort = new AbortController();
    try {
      // Looking for the second one would be an error.
      const scripts = [...folder.params.scripts, folder.path('not there')];
      const result = await program.executeBatchJob(
        { ...folder.params, scripts },
        {
          instanceId: 'sim-1',
          signal: abort.signal,
          output: async () => abort.abort(),
          log: () => undefined,
        },
      );
      expect(result).toEqual({ status: 'OK' });
    } finally {
      await program.shutdown?.();
      await folder.remove();
    }
  },
);
