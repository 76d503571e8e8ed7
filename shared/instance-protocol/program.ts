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
  let state: 'new' | 'ready' | 'ending' = 'new';
  let job: { taskId: string; abort: AbortController; ended: Promise<unknown> } | undefined;
  let endServing!: () => void;
  const served = new Promise<void>((resolve) => {
    endServing = resolve;
  });

  let drained: Promise<void> | undefined;
  const writeLine = (line: string): Promise<void> | undefined => {
    if (stdout.write(`${line}\n`)) return undefined;
    drained ??= once(stdout, 'drain').then(() => {
      drained = undefined;
    });
    return drained;
  };

  const refuseUnlessIdle = (): void => {
    if (state === 'new') throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'not initialized');
    if (state === 'ending') throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'shutting down');
    if (job) throw new RpcError(RPC_ERROR.INVALID_REQUEST, `busy with task ${job.taskId}`);
  };

  const run = async <T>(
    { taskId, requestId }: { taskId: string; requestId?: string | undefined },
    work: (context: JobContext) => Promise<T>,
  ): Promise<T> => {
    const abort = new AbortController();
    const context: JobContext = {
      signal: abort.signal,
      output: (stream, text) => peer.notify('output', { taskId, stream, text }),
      log: (line) => {
        const request = requestId === undefined ? '' : `, request ${requestId}`;
        process.stderr.write(`${program.name}: ${line} (task ${taskId}${request})\n`);
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
    job = { taskId, abort, ended };
    try {
      return await ended;
    } finally {
      job = undefined;
    }
  };

  const endJob = async (): Promise<void> => {
    state = 'ending';
    job?.abort.abort();
    // The caller gets the result; only the end matters here.
    await job?.ended.catch(() => undefined);
  };
  const end = (): void => void endJob().then(() => setImmediate(endServing));

  const initialize = async (params: InitializeParams): Promise<InitializeResult> => {
    await program.initialize?.(params);
    if (state === 'new') state = 'ready';
    return { protocolVersion: INSTANCE_PROTOCOL_VERSION, name: program.name, version: program.version };
  };

  const methods: Record<string, (params: unknown) => unknown> = {
    initialize(raw) {
      const params = readAs(initializeParams, raw);
      if (state !== 'new') throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'initialized already');
      return initialize(params);
    },
    simulateWork(raw) {
      const params = readAs(simulateWorkParams, raw);
      refuseUnlessIdle();
      // Work without duration has ended before a cancel could arrive.
      if (params.durationMs === 0) return {};
      return run(params, async ({ signal }) => {
        await longDelay(params.durationMs, signal);
        return {};
      });
    },
    executeBatchJob(raw) {
      const params = readAs(executeBatchJobParams, raw);
      refuseUnlessIdle();
      return run(params, (context) => program.executeBatchJob(params, context));
    },
    cancel(raw) {
      const { taskId } = readAs(cancelParams, raw);
      if (job?.taskId === taskId) job.abort.abort();
      return null;
    },
    async shutdown() {
      await endJob();
      setImmediate(endServing);
      return null;
    },
  };

  const peer = new RpcPeer(writeLine, {
    onRequest: (method, params) => {
      const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
      if (!handler) throw new RpcError(RPC_ERROR.METHOD_NOT_FOUND, `no method ${JSON.stringify(method)}`);
      try {
        return handler(params);
      } catch (error) {
        throw error instanceof ValidationError ? invalidParams(error) : error;
      }
    },
    onNotification: () => undefined,
  });
  /** False when the other side broke the protocol, which is reported to it; any other error is a defect and thrown. */
  const guarded = (take: () => void): boolean => {
    try {
      take();
      return true;
    } catch (error) {
      if (!(error instanceof ProtocolViolation)) throw error;
      peer.complain(error);
      return false;
    }
  };

  const splitter = lineSplitter(MAX_LINE_BYTES);
  const take = (piece: Buffer): void => {
    const split = guarded(() => {
      for (const line of splitter.push(piece)) guarded(() => peer.receive(line));
    });
    // After an unterminated line the stream cannot be parsed any more.
    if (!split) end();
  };
  if (stdin) readStream(stdin, take, end);
  else readStandardInput(take, end);
  stdout.on('error', (error) => {
    peer.close(error);
    end();
  });
  if (stop?.aborted) end();
  else stop?.addEventListener('abort', end, { once: true });

  await served;
  await program.shutdown?.();
  stop?.removeEventListener('abort', end);
  // The process exits next: buffered output would be lost. The callback also comes for a broken pipe.
  await new Promise<void>((resolve) => stdout.write('', () => resolve()));
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
