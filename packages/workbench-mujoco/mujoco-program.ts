import { RPC_ERROR, RpcError } from '@workbench-hub/shared/instance-protocol/messages';
import type { InstanceProgram } from '@workbench-hub/shared/instance-protocol/program';
import { compileSimulator, type SimulatorThread, startSimulatorThread } from './simulator-thread.js';
import type { WasmModule } from './web-assembly.js';

/**
 * The MuJoCo workbench. Scripts compute in a thread, so that the protocol is served meanwhile and a job can be
 * canceled in the middle of a computation. Each job has a thread of its own, with a simulator that was loaded before
 * it came: nothing that a script leaves behind (a changed global, a timer, memory) reaches the next job. One process
 * serves any number of instances, each with the thread of its next job.
 */
export function mujocoProgram(version: string): InstanceProgram {
  let simulator: WasmModule | undefined;
  /** Threads that wait for the next job of an instance. */
  const waiting = new Map<string, SimulatorThread>();

  const loaded = (): WasmModule => {
    if (!simulator) throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'not initialized');
    return simulator;
  };
  return {
    name: 'workbench-mujoco',
    version,
    isShareable: true,
    async initialize() {
      simulator ??= await compileSimulator();
    },
    async startInstance({ id }) {
      const thread = startSimulatorThread(loaded());
      waiting.set(id, thread);
      await thread.ready;
    },
    async stopInstance(instanceId) {
      const thread = waiting.get(instanceId);
      waiting.delete(instanceId);
      await thread?.end();
    },
    async executeBatchJob(params, context) {
      const { instanceId, signal } = context;
      const thread = waiting.get(instanceId) ?? startSimulatorThread(loaded());
      waiting.delete(instanceId);
      const canceled = () => void thread.end();
      signal.addEventListener('abort', canceled, { once: true });
      try {
        await thread.ready;
        return await thread.run(params, context);
      } finally {
        signal.removeEventListener('abort', canceled);
        await thread.end();
        waiting.set(instanceId, startSimulatorThread(loaded()));
      }
    },
    async shutdown() {
      await Promise.all([...waiting.values()].map((thread) => thread.end()));
    },
  };
}
