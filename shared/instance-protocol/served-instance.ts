/** One instance of an instance program: its state and its job. */
import { setTimeout as delay } from 'node:timers/promises';
import type { InstanceProgram, JobContext } from './instance-program.js';
import {
  type ExecuteBatchJobParams,
  type OutputParams,
  RPC_ERROR,
  RpcError,
  type SimulateWorkParams,
} from './messages.js';

export interface ServedInstanceOptions {
  readonly id: string;
  readonly program: InstanceProgram;
  /** Sends output of the instance's job. */
  readonly sendOutput: (output: OutputParams) => Promise<void>;
  /** Writes to the program's log, as text of this instance. */
  readonly log: (text: string) => void;
}

interface RunningJob {
  readonly taskId: string;
  readonly abort: AbortController;
  readonly ended: Promise<unknown>;
}

export class ServedInstance {
  readonly #options: ServedInstanceOptions;
  #state: 'new' | 'ready' | 'ending' = 'new';
  #job: RunningJob | undefined;

  constructor(options: ServedInstanceOptions) {
    this.#options = options;
  }

  /** The instance takes jobs from now on, unless it is ending. */
  becomeReady(): void {
    if (this.#state === 'new') this.#state = 'ready';
  }

  simulateWork(params: SimulateWorkParams): unknown {
    this.#refuseUnlessIdle();
    // Work without duration has ended before a cancel could arrive.
    if (params.durationMs === 0) return {};
    return this.#run(params, async ({ signal }) => {
      await longDelay(params.durationMs, signal);
      return {};
    });
  }

  executeBatchJob(params: ExecuteBatchJobParams): unknown {
    this.#refuseUnlessIdle();
    return this.#run(params, (context) => this.#options.program.executeBatchJob(params, context));
  }

  /** Ends the job of the task, if it runs. */
  cancel(taskId: string): void {
    if (this.#job?.taskId === taskId) this.#job.abort.abort();
  }

  /** Ends the running job and takes no other. */
  async end(): Promise<void> {
    this.#state = 'ending';
    this.#job?.abort.abort();
    // The caller gets the result; only the end matters here.
    await this.#job?.ended.catch(() => undefined);
  }

  #refuseUnlessIdle(): void {
    if (this.#state === 'new') throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'the instance is not started');
    if (this.#state === 'ending') throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'the instance is stopping');
    if (this.#job) throw new RpcError(RPC_ERROR.INVALID_REQUEST, `busy with task ${this.#job.taskId}`);
  }

  async #run<T>(
    { instanceId, taskId, requestId }: SimulateWorkParams | ExecuteBatchJobParams,
    work: (context: JobContext) => Promise<T>,
  ): Promise<T> {
    const { id, program, sendOutput, log } = this.#options;
    const abort = new AbortController();
    const context: JobContext = {
      instanceId: id,
      signal: abort.signal,
      output: (stream, text) => sendOutput({ instanceId, taskId, stream, text }),
      log: (line) => {
        const request = requestId === undefined ? '' : `, request ${requestId}`;
        log(`${program.name}: ${line} (task ${taskId}${request})\n`);
      },
    };
    const canceled = () => new RpcError(RPC_ERROR.CANCELED, 'canceled');
    const ended = work(context).then(
      (result) => {
        if (abort.signal.aborted) throw canceled();
        return result;
      },
      (error: unknown) => {
        throw abort.signal.aborted ? canceled() : error;
      },
    );
    this.#job = { taskId, abort, ended };
    try {
      return await ended;
    } finally {
      this.#job = undefined;
    }
  }
}

/** Node's timers are limited to 2^31 - 1 ms (24.8 days); a simulated job may take 30 days. */
async function longDelay(durationMs: number, signal: AbortSignal): Promise<void> {
  const maxTimerMs = 2 ** 31 - 1;
  for (let leftMs = durationMs; leftMs > 0; leftMs -= maxTimerMs) {
    await delay(Math.min(leftMs, maxTimerMs), undefined, { signal });
  }
}
