import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import {
  type ExecuteBatchJobParams,
  type ExecuteBatchJobResult,
  RPC_ERROR,
  RpcError,
} from '@workbench-hub/shared/instance-protocol/messages';
import type { JobContext } from '@workbench-hub/shared/instance-protocol/program';
import { outputReceiver } from './output-channel.js';
import type { JobMessage, ThreadData, ThreadMessage } from './thread-messages.js';
import { type WasmModule, webAssembly } from './web-assembly.js';

/** Thread with a loaded simulator, for one job. */
export interface SimulatorThread {
  /** Resolves when the simulator is loaded; rejects when that fails. */
  ready: Promise<void>;
  run(job: ExecuteBatchJobParams, context: JobContext): Promise<ExecuteBatchJobResult>;
  /** Ends the thread at once, also during a computation. */
  end(): Promise<void>;
}

/** Compiles the simulator once for all threads. */
export async function compileSimulator(): Promise<WasmModule> {
  return webAssembly.compile(
    await readFile(fileURLToPath(import.meta.resolve('@mujoco/mujoco/mujoco.wasm'))),
  );
}

export function startSimulatorThread(simulator: WasmModule): SimulatorThread {
  const inFlight = new SharedArrayBuffer(4);
  const workerData: ThreadData = { simulator, inFlight };
  const worker = new Worker(new URL('thread-main.js', import.meta.url), { workerData });
  const ended = new Promise<never>((_, reject) => {
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread of the simulator exited with code ${code}`)));
  });
  const ready = Promise.race([ended, once(worker, 'message').then(() => undefined)]);
  // Both are awaited when there is a job.
  ended.catch(() => undefined);
  ready.catch(() => undefined);

  return {
    ready,
    async run(job, context) {
      const output = outputReceiver(inFlight, context.output);
      const finished = new Promise<ExecuteBatchJobResult>((resolve, reject) => {
        worker.on('message', (message: ThreadMessage) => {
          if (message.kind === 'output') output.take(message.stream, message.text);
          else if (message.kind === 'failed') reject(new RpcError(RPC_ERROR.JOB_FAILED, message.message));
          else if (message.kind === 'ended') resolve(result(message));
        });
      });
      worker.postMessage({ job } satisfies JobMessage);
      try {
        return await Promise.race([finished, ended]);
      } catch (error) {
        // A thread that runs out of memory is ended; the process continues.
        if (error instanceof RpcError || context.signal.aborted) throw error;
        return { status: 'ERROR', message: `the simulator ended: ${(error as Error).message}` };
      } finally {
        await output.drained();
      }
    },
    async end() {
      await worker.terminate();
    },
  };
}

function result({ status, message }: ThreadMessage & { kind: 'ended' }): ExecuteBatchJobResult {
  return message === undefined ? { status } : { status, message };
}
