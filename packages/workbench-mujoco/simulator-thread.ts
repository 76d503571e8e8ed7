import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import {
  type ExecuteBatchJobResult,
  RPC_ERROR,
  RpcError,
} from '@workbench-hub/shared/instance-protocol/messages';
import type { JobContext } from '@workbench-hub/shared/instance-protocol/program';
import type { Isolation } from './isolation.js';
import type { JobEnd } from './job.js';
import { type OutputReceiver, outputReceiver } from './output-channel.js';
import type { EndedPoints, JobMessage, ThreadData, ThreadMessage } from './thread-messages.js';
import { type WasmModule, webAssembly } from './web-assembly.js';

/** Compiles the simulator once for all threads. */
export async function compileSimulator(): Promise<WasmModule> {
  return webAssembly.compile(
    await readFile(fileURLToPath(import.meta.resolve('@mujoco/mujoco/mujoco.wasm'))),
  );
}

/** A thread with a loaded simulator, for one job at a time. */
export class SimulatorThread {
  /** Resolves when the simulator is loaded; rejects when that fails. */
  readonly ready: Promise<void>;
  /** Isolation that it has prepared for. */
  readonly isolation: Isolation;
  readonly #worker: Worker;
  readonly #inFlight = new SharedArrayBuffer(4);
  readonly #ended: Promise<never>;
  #output: OutputReceiver | undefined;
  #onPoints: (ended: EndedPoints) => void = () => undefined;
  #takeEnd: ((end: JobEnd) => void) | undefined;
  #jobs = 0;
  #isSpent = false;
  #left: string | undefined;

  /** Starts a thread that prepares for jobs of this isolation. */
  constructor(simulator: WasmModule, isolation: Isolation) {
    this.isolation = isolation;
    const workerData: ThreadData = { simulator, inFlight: this.#inFlight, isolation };
    this.#worker = new Worker(new URL('thread-main.js', import.meta.url), { workerData });
    this.#ended = new Promise<never>((_, reject) => {
      this.#worker.once('error', reject);
      this.#worker.once('exit', (code) =>
        reject(new Error(`the thread of the simulator exited with code ${code}`)),
      );
    });
    this.ready = Promise.race([this.#ended, once(this.#worker, 'message').then(() => undefined)]);
    // Both are awaited when there is a job.
    this.ready.catch(() => undefined);
    this.#ended.catch(() => {
      this.#isSpent = true;
    });
    this.#worker.on('message', (message: ThreadMessage) => this.#take(message));
  }

  /** Jobs that it has begun. */
  get jobs(): number {
    return this.#jobs;
  }

  /** True when it must not be used again. */
  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** Leftovers of a job in it. */
  get left(): string | undefined {
    return this.#left;
  }

  /** Runs a job; rejects as the instance protocol asks for it. `onPoints` is called with the ends of points of a bundle. */
  async run(
    message: JobMessage,
    context: JobContext,
    onPoints: (ended: EndedPoints) => void = () => undefined,
  ): Promise<ExecuteBatchJobResult> {
    this.#jobs++;
    this.#onPoints = onPoints;
    const output = outputReceiver(this.#inFlight, context.output);
    this.#output = output;
    const finished = new Promise<JobEnd>((resolve) => {
      this.#takeEnd = resolve;
    });
    try {
      await this.ready;
      this.#worker.postMessage(message);
      return resultOf(await Promise.race([finished, this.#ended]));
    } catch (error) {
      // A thread that runs out of memory is ended; the process continues.
      if (error instanceof RpcError || context.signal.aborted) throw error;
      return { status: 'ERROR', message: `the simulator ended: ${(error as Error).message}` };
    } finally {
      await output.drained();
    }
  }

  /** Ends the thread at once, also during a computation. */
  async end(): Promise<void> {
    this.#isSpent = true;
    await this.#worker.terminate();
  }

  #take(message: ThreadMessage): void {
    if (message.kind === 'output') this.#output?.take(message.stream, message.text);
    else if (message.kind === 'pointsEnded') this.#onPoints(message);
    else if (message.kind === 'jobEnded') {
      this.#left = message.left;
      this.#isSpent ||= message.isSpent;
      this.#takeEnd?.(message.end);
    }
  }
}

function resultOf(end: JobEnd): ExecuteBatchJobResult {
  if (end.kind === 'failed') throw new RpcError(RPC_ERROR.JOB_FAILED, end.message);
  const { status, message } = end;
  return message === undefined ? { status } : { status, message };
}
