import { RPC_ERROR, RpcError } from '@workbench-hub/shared/instance-protocol/messages';
import type { InstanceProgram } from '@workbench-hub/shared/instance-protocol/program';
import type { Isolation } from './isolation.js';
import { MODEL_TYPES } from './model.js';
import { compileSimulator } from './simulator-thread.js';
import { SimulatorThreads } from './simulator-threads.js';
import type { WasmModule } from './web-assembly.js';

/**
 * The MuJoCo workbench. Scripts compute in a thread, so that the protocol is served meanwhile and a job can be
 * canceled in the middle of a computation. The isolation says what the jobs of an instance share. One process serves
 * any number of instances, each with threads of its own.
 */
export function mujocoProgram(version: string, isolation: Isolation): InstanceProgram {
  let simulator: WasmModule | undefined;
  const instances = new Map<string, SimulatorThreads>();

  return {
    name: 'workbench-mujoco',
    version,
    isShareable: true,
    runs: {
      models: MODEL_TYPES,
      scripts: ['JavaScript'],
      // A thread for each point would take as long as a task.
      ...(isolation === 'thread' ? {} : { points: true }),
    },
    async initialize() {
      simulator ??= await compileSimulator();
    },
    async startInstance({ id }) {
      if (!simulator) throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'not initialized');
      const threads = new SimulatorThreads(simulator, isolation);
      instances.set(id, threads);
      await threads.start();
    },
    async stopInstance(instanceId) {
      const threads = instances.get(instanceId);
      instances.delete(instanceId);
      await threads?.stop();
    },
    async executeBatchJob(params, context) {
      const threads = instances.get(context.instanceId);
      if (!threads) throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'not initialized');
      return threads.run(params, context);
    },
    async shutdown() {
      await Promise.all([...instances.values()].map((threads) => threads.stop()));
    },
  };
}
