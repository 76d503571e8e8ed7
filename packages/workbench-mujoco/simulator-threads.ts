import { accessSync, readFileSync } from 'node:fs';
import type {
  ExecuteBatchJobParams,
  ExecuteBatchJobResult,
  PointParams,
} from '@workbench-hub/shared/instance-protocol/messages';
import type { JobContext } from '@workbench-hub/shared/instance-protocol/program';
import { Bundle } from './bundle.js';
import type { Isolation } from './isolation.js';
import { stagedFiles } from './point-folder.js';
import { PointLimit } from './point-limit.js';
import { needsNode } from './script-needs.js';
import { SimulatorThread } from './simulator-thread.js';
import type { JobMessage } from './thread-messages.js';
import type { WasmModule } from './web-assembly.js';

/** Jobs after which a thread is replaced, whatever its state. */
const MAX_JOBS = 500;

/**
 * Threads of one instance: one for its job, and meanwhile perhaps the next one, which prepares. A process can have several
 * such objects.
 */
export class SimulatorThreads {
  readonly #simulator: WasmModule;
  readonly #isolation: Isolation;
  #current: SimulatorThread | undefined;
  #successor: SimulatorThread | undefined;
  #stopped = false;

  constructor(simulator: WasmModule, isolation: Isolation) {
    this.#simulator = simulator;
    this.#isolation = isolation;
  }

  /** Starts the first thread; resolves when it is ready for a job. */
  async start(): Promise<void> {
    this.#current = this.#newThread(this.#isolation);
    await this.#current.ready;
  }

  /** Runs a job, one at a time. */
  async run(job: ExecuteBatchJobParams, context: JobContext): Promise<ExecuteBatchJobResult> {
    // At once: the threads of the pool would cost a small job more than the files.
    accessSync(job.workingDirectory);
    const sources = job.scripts.map((script) => readFileSync(script, 'utf8'));
    const wanted = this.#isolation === 'realm' && sources.some(needsNode) ? 'thread' : this.#isolation;
    const message = { job, sources, isolation: wanted };
    return job.points ? this.#runPoints(message, job.points, context) : this.#runIn(message, context);
  }

  async #runIn(
    message: JobMessage,
    context: JobContext,
    attend: (thread: SimulatorThread) => Promise<ExecuteBatchJobResult> = (thread) =>
      thread.run(message, context),
  ): Promise<ExecuteBatchJobResult> {
    const { isolation: wanted } = message;
    const thread = await this.#usableThread(wanted);
    // A thread that has prepared for a script with Node.js serves any script, once.
    if (thread.isolation === 'thread') message.isolation = 'thread';
    if (thread.jobs >= MAX_JOBS - 1) this.#successor ??= this.#newThread(this.#isolation);
    const canceled = () => void thread.end();
    context.signal.addEventListener('abort', canceled, { once: true });
    try {
      if (context.signal.aborted) canceled();
      const result = await attend(thread);
      // A realm cannot start processes.
      return message.isolation === 'realm' ? { ...result, startedProcesses: false } : result;
    } finally {
      context.signal.removeEventListener('abort', canceled);
      await this.#replaceIfSpent(thread, wanted, context);
    }
  }

  /** Runs a bundle, in several threads if its points spend them. When a thread ends in the midst of a point, those after it are left to
   *  tasks of their own. */
  async #runPoints(
    { job, sources, isolation }: JobMessage,
    points: readonly PointParams[],
    context: JobContext,
  ): Promise<ExecuteBatchJobResult> {
    const bundle = new Bundle(points);
    const limit = new PointLimit(job.pointLimitMs);
    const staged = stagedFiles(job.workingDirectory);
    const tellsEachPoint = job.pointLimitMs !== undefined;
    let startedProcesses = isolation !== 'realm';
    // Modules are loaded once in a directory: the points after the first would get what it has made of them.
    let isLast = isolation === 'thread' || sources.some(needsNode);
    while (!isLast && bundle.left.length > 0) {
      const message = { job: { ...job, points: bundle.left }, sources, isolation, staged, tellsEachPoint };
      const result = await this.#runIn(message, context, (thread) =>
        limit.watch(thread, (onEnd) => {
          bundle.begin();
          return thread.run(message, context, (ended) => {
            bundle.add(ended.points);
            isLast = ended.isLast;
            onEnd();
          });
        }),
      );
      startedProcesses ||= result.startedProcesses !== false;
      if (result.status === 'ERROR') isLast = true;
      if (result.status === 'ERROR' && limit.fault) bundle.addLost(limit.fault);
    }
    bundle.write(job.workingDirectory);
    return { status: 'OK', ...(startedProcesses ? {} : { startedProcesses }) };
  }

  /** Ends all threads. The object cannot be used afterwards. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([this.#current?.end(), this.#successor?.end()]);
  }

  async #usableThread(isolation: Isolation): Promise<SimulatorThread> {
    const current = this.#current;
    // A thread that is ready for realms has none of the built-in objects that a script with Node.js may expect.
    const isUsable = current && !(isolation === 'thread' && current.isolation === 'realm');
    if (isUsable && !current.isSpent) return current;
    const thread = this.#newThread(isolation);
    this.#current = thread;
    await current?.end();
    return thread;
  }

  async #replaceIfSpent(thread: SimulatorThread, wanted: Isolation, context: JobContext): Promise<void> {
    if (!thread.isSpent && thread.jobs < MAX_JOBS) return;
    if (thread.left !== undefined) context.log(`the thread of the simulator is replaced: ${thread.left}`);
    await thread.end();
    // The next job will probably be like this one.
    this.#current = this.#stopped ? undefined : (this.#successor ?? this.#newThread(wanted));
    this.#successor = undefined;
  }

  #newThread(isolation: Isolation): SimulatorThread {
    return new SimulatorThread(this.#simulator, isolation);
  }
}
