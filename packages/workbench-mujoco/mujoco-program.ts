import { RPC_ERROR, RpcError } from '@workbench-hub/shared/instance-protocol/messages';
import type { InstanceProgram } from '@workbench-hub/shared/instance-protocol/program';
import type { Isolation } from './isolation.js';
import { compileSimulator } from './simulator-thread.js';
import { SimulatorThreads } from './simulator-threads.js';
import { WorkingDirectory } from './working-directory.js';

/**
 * The MuJoCo workbench. Scripts compute in a thread, so that the protocol is served meanwhile and a job can be
 * canceled in the middle of a computation. The isolation says what the jobs of an instance share.
 */
export function mujocoProgram(version: string, isolation: Isolation): InstanceProgram {
  let threads: SimulatorThreads | undefined;

  return {
    name: 'workbench-mujoco',
    version,
    async initialize() {
      threads = new SimulatorThreads(await compileSimulator(), isolation, new WorkingDirectory());
      await threads.start();
    },
    async executeBatchJob(params, context) {
      if (!threads) throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'not initialized');
      return threads.run(params, context);
    },
    async shutdown() {
      await threads?.stop();
    },
  };
}
