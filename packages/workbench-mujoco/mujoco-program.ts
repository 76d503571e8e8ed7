import { RPC_ERROR, RpcError } from '@workbench-hub/shared/instance-protocol/messages';
import type { InstanceProgram } from '@workbench-hub/shared/instance-protocol/program';
import { compileSimulator, type SimulatorThread, startSimulatorThread } from './simulator-thread.js';
import type { WasmModule } from './web-assembly.js';

/**
 * The MuJoCo workbench. Scripts compute in a thread, so that the protocol is served meanwhile and a job can be
 * canceled in the middle of a computation. Each job has a thread of its own, with a simulator that was loaded before
 * it came: nothing that a script leaves behind (a changed global, a timer, memory) reaches the next job.
 */
export function mujocoProgram(version: string): InstanceProgram {
  const home = process.cwd();
  let simulator: WasmModule | undefined;
  let waiting: SimulatorThread | undefined;

  return {
    name: 'workbench-mujoco',
    version,
    async initialize() {
      simulator ??= await compileSimulator();
      waiting = startSimulatorThread(simulator);
      await waiting.ready;
    },
    async executeBatchJob(params, context) {
      if (!simulator) throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'not initialized');
      const thread = waiting ?? startSimulatorThread(simulator);
      waiting = undefined;
      const canceled = () => void thread.end();
      context.signal.addEventListener('abort', canceled, { once: true });
      // Threads share the current directory of the process: relative paths begin here.
      process.chdir(params.workingDirectory);
      try {
        await thread.ready;
        return await thread.run(params, context);
      } finally {
        context.signal.removeEventListener('abort', canceled);
        await thread.end();
        process.chdir(home);
        waiting = startSimulatorThread(simulator);
      }
    },
    async shutdown() {
      await waiting?.end();
    },
  };
}
