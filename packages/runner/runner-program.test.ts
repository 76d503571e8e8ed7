import { layOutJob } from '@workbench-hub/shared/instance-protocol/program-under-test';
import { expect, it, onTestFinished, vi } from 'vitest';
import { runnerProgram } from './runner-program.js';
import { nodeOfRunner } from './script-node.js';
import { type HostSystem, posix } from './systems/host-system.js';
import { withVariablesOnWindows } from './systems/windows-system.js';

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

it.skipIf(process.platform === 'win32')(
  "has the variable of a job in place of the host's where the case of letters makes no difference",
  async () => {
    vi.stubEnv('SPRING_RATE', 'of the host');
    onTestFinished(() => void vi.unstubAllEnvs());
    const folder = await layOutJob({ scripts: ['echo "[$SPRING_RATE][$Spring_Rate]"'] });
    onTestFinished(folder.remove);
    const windows: HostSystem = { ...posix, withVariables: withVariablesOnWindows };
    const program = runnerProgram('1', { command: 'sh', args: [] }, nodeOfRunner, windows);
    onTestFinished(() => program.shutdown?.());
    let printed = '';
    const environment = { ...folder.params.environment, Spring_Rate: 'of the job' };
    await program.executeBatchJob(
      { ...folder.params, environment },
      {
        instanceId: 'sim-1',
        signal: new AbortController().signal,
        output: async (_, text) => {
          printed += text;
        },
        log: () => undefined,
      },
    );
    expect(printed).toBe('[][of the job]\n');
  },
);
