/** The program's side of the instance protocol, for programs in TypeScript or JavaScript. */
import { Console } from 'node:console';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ValidationError } from '../validation-error.js';
import { lineSplitter, ProtocolViolation } from './framing.js';
import {
  cancelParams,
  type ExecuteBatchJobParams,
  type ExecuteBatchJobResult,
  executeBatchJobParams,
  INSTANCE_PROTOCOL_VERSION,
  type InitializeParams,
  type InitializeResult,
  initializeParams,
  MAX_LINE_BYTES,
  type OutputStream,
  RPC_ERROR,
  RpcError,
  simulateWorkParams,
} from './messages.js';
import { readAs } from './parse-message.js';
import { RpcPeer } from './peer.js';
import { readStandardInput, readStream } from './standard-input.js';

/** Context of a job. */
export interface JobContext {
  /** Aborted by `cancel`, `shutdown` and the end of standard input: stop computing and end child processes. */
  signal: AbortSignal;
  /** Sends output of a script to the task's log. Await it: it holds back a script that prints faster than is read. */
  output(stream: OutputStream, text: string): Promise<void>;
  /** Writes a line with the task's name to the program's own log: standard error. */
  log(line: string): void;
}

export interface InstanceProgram {
  name: string;
  version: string;
  /** Prepares the program (loads a library, checks a licence); the instance is used after it has resolved. */
  initialize?(params: InitializeParams): Promise<void>;
  /** Resolves with the result of the scripts. Throw `new RpcError(RPC_ERROR.JOB_FAILED, message)` when they could not be run.
   *  After an abort, any result counts as canceled. */
  executeBatchJob(params: ExecuteBatchJobParams, context: JobContext): Promise<ExecuteBatchJobResult>;
  /** Releases resources before the process exits. */
  shutdown?(): Promise<void>;
}

/** Streams of the protocol, and an additional stop signal. */
export interface Surroundings {
  /** By default the standard input of this process, which nothing else may read. */
  stdin?: Readable;
  /** By default the standard output of this process. */
  stdout?: Writable;
  /** Aborted when the process must end (SIGTERM): the same as the end of standard input. */
  stop?: AbortSignal;
}

/**
 * Serves the protocol until `shutdown`, the end of standard input or `stop`; resolves when the process should exit:
 * the running job has ended and everything is written.
 * Standard output then belongs to the protocol: the global console is moved to standard error.
 */
export async function serveProgram(
  program: InstanceProgram,
  { stdin, stdout = process.stdout, stop }: Surroundings = {},
): Promise<void> {
  if (stdout === process.stdout) globalThis.console = new Console(process.stderr);
  const server = new ProgramServer(program, stdout);
  const end = () => server.end();
  if (stdin) readStream(stdin, (piece) => server.take(piece), end);
  else readStandardInput((piece) => server.take(piece), end);
  stdout.on('error', (error) => server.closed(error));
  if (stop?.aborted) end();
  else stop?.addEventListener('abort', end, { once: true });

  await server.served;
  await program.shutdown?.();
  stop?.removeEventListener('abort', end);
  // The process exits next: buffered output would be lost. The callback also comes for a broken pipe.
  await new Promise<void>((resolve) => stdout.write('', () => resolve()));
}

interface RunningJob {
  readonly taskId: string;
  readonly abort: AbortController;
  readonly ended: Promise<unknown>;
}

class ProgramServer {
  /** Resolves when nothing more is served. */
  readonly served: Promise<void>;
  readonly #program: InstanceProgram;
  readonly #stdout: Writable;
  readonly #splitter = lineSplitter(MAX_LINE_BYTES);
  readonly #peer: RpcPeer;
  #endServing!: () => void;
  #state: 'new' | 'ready' | 'ending' = 'new';
  #job: RunningJob | undefined;
  #drained: Promise<void> | undefined;

  constructor(program: InstanceProgram, stdout: Writable) {
    this.#program = program;
    this.#stdout = stdout;
    this.served = new Promise<void>((resolve) => {
      this.#endServing = resolve;
    });
    this.#peer = new RpcPeer((line) => this.#writeLine(line), {
      onRequest: (method, params) => this.#onRequest(method, params),
      onNotification: () => undefined,
    });
  }

  /** Takes a piece of standard input. */
  take(piece: Buffer): void {
    const split = this.#guarded(() => {
      for (const line of this.#splitter.push(piece)) this.#guarded(() => this.#peer.receive(line));
    });
    // After an unterminated line the stream cannot be parsed any more.
    if (!split) this.end();
  }

  /** Standard output cannot be written any more. */
  closed(error: Error): void {
    this.#peer.close(error);
    this.end();
  }

  /** Ends the running job, then the serving. */
  end(): void {
    void this.#endJob().then(() => setImmediate(this.#endServing));
  }

  #writeLine(line: string): Promise<void> | undefined {
    if (this.#stdout.write(`${line}\n`)) return undefined;
    this.#drained ??= once(this.#stdout, 'drain').then(() => {
      this.#drained = undefined;
    });
    return this.#drained;
  }

  /** False when the other side broke the protocol, which it is told; any other error is a defect and thrown. */
  #guarded(take: () => void): boolean {
    try {
      take();
      return true;
    } catch (error) {
      if (!(error instanceof ProtocolViolation)) throw error;
      this.#peer.complain(error);
      return false;
    }
  }

  #onRequest(method: string, params: unknown): unknown {
    const handler = Object.hasOwn(this.#methods, method) ? this.#methods[method] : undefined;
    if (!handler) throw new RpcError(RPC_ERROR.METHOD_NOT_FOUND, `no method ${JSON.stringify(method)}`);
    try {
      return handler(params);
    } catch (error) {
      throw error instanceof ValidationError ? invalidParams(error) : error;
    }
  }

  readonly #methods: Readonly<Record<string, (params: unknown) => unknown>> = {
    initialize: (raw) => {
      const params = readAs(initializeParams, raw);
      if (this.#state !== 'new') throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'initialized already');
      return this.#initialize(params);
    },
    simulateWork: (raw) => {
      const params = readAs(simulateWorkParams, raw);
      this.#refuseUnlessIdle();
      // Work without duration has ended before a cancel could arrive.
      if (params.durationMs === 0) return {};
      return this.#run(params, async ({ signal }) => {
        await longDelay(params.durationMs, signal);
        return {};
      });
    },
    executeBatchJob: (raw) => {
      const params = readAs(executeBatchJobParams, raw);
      this.#refuseUnlessIdle();
      return this.#run(params, (context) => this.#program.executeBatchJob(params, context));
    },
    cancel: (raw) => {
      const { taskId } = readAs(cancelParams, raw);
      if (this.#job?.taskId === taskId) this.#job.abort.abort();
      return null;
    },
    shutdown: async () => {
      await this.#endJob();
      setImmediate(this.#endServing);
      return null;
    },
  };

  async #initialize(params: InitializeParams): Promise<InitializeResult> {
    await this.#program.initialize?.(params);
    if (this.#state === 'new') this.#state = 'ready';
    const { name, version } = this.#program;
    return { protocolVersion: INSTANCE_PROTOCOL_VERSION, name, version };
  }

  #refuseUnlessIdle(): void {
    if (this.#state === 'new') throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'not initialized');
    if (this.#state === 'ending') throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'shutting down');
    if (this.#job) throw new RpcError(RPC_ERROR.INVALID_REQUEST, `busy with task ${this.#job.taskId}`);
  }

  async #run<T>(
    { taskId, requestId }: { taskId: string; requestId?: string | undefined },
    work: (context: JobContext) => Promise<T>,
  ): Promise<T> {
    const abort = new AbortController();
    const context: JobContext = {
      signal: abort.signal,
      output: (stream, text) => this.#peer.notify('output', { taskId, stream, text }),
      log: (line) => {
        const request = requestId === undefined ? '' : `, request ${requestId}`;
        process.stderr.write(`${this.#program.name}: ${line} (task ${taskId}${request})\n`);
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

  async #endJob(): Promise<void> {
    this.#state = 'ending';
    this.#job?.abort.abort();
    // The caller gets the result; only the end matters here.
    await this.#job?.ended.catch(() => undefined);
  }
}

/** Node's timers are limited to 2^31 - 1 ms (24.8 days); a simulated job may take 30 days. */
async function longDelay(durationMs: number, signal: AbortSignal): Promise<void> {
  const maxTimerMs = 2 ** 31 - 1;
  for (let leftMs = durationMs; leftMs > 0; leftMs -= maxTimerMs) {
    await delay(Math.min(leftMs, maxTimerMs), undefined, { signal });
  }
}

function invalidParams({ path, message }: ValidationError): RpcError {
  return new RpcError(RPC_ERROR.INVALID_PARAMS, `${path || 'params'}: ${message}`);
}
