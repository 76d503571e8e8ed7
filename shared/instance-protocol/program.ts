/** The program's end of the instance protocol, for instance programs written in TypeScript or JavaScript. */
import { Console } from 'node:console';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import { lineSplitter } from './framing.js';
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
import { RpcPeer } from './peer.js';

/** What a program may use while it runs a job. */
export interface JobContext {
  /** Aborted by `cancel`, `shutdown` and the end of standard input: stop computing and end what was started. */
  signal: AbortSignal;
  /** Sends what a script printed to the task's log. Await it: it holds back a script that prints faster than is read. */
  output(stream: OutputStream, text: string): Promise<void>;
}

export interface InstanceProgram {
  name: string;
  version: string;
  /** Prepares the program (load a library, check a licence); the instance is not used before it resolves. */
  initialize?(params: InitializeParams): Promise<void>;
  /** Resolves with how the scripts ended. Throw `new RpcError(RPC_ERROR.JOB_FAILED, message)` when they could not be
   *  run at all. After an abort, whatever it does counts as canceled. */
  executeBatchJob(params: ExecuteBatchJobParams, context: JobContext): Promise<ExecuteBatchJobResult>;
  /** Ends what is still held before the process exits. */
  shutdown?(): Promise<void>;
}

export interface Stdio {
  stdin: Readable;
  stdout: Writable;
}

/**
 * Serves the protocol until `shutdown` or the end of standard input; resolves when the process should exit.
 * Standard output belongs to the protocol from here on: the global console is moved to standard error.
 */
export async function serveProgram(program: InstanceProgram, stdio: Stdio = process): Promise<void> {
  globalThis.console = new Console(process.stderr);
  let job: { taskId: string; abort: AbortController; ended: Promise<unknown> } | undefined;
  let endServing!: () => void;
  const served = new Promise<void>((resolve) => {
    endServing = resolve;
  });

  const writeLine = async (line: string): Promise<void> => {
    if (!stdio.stdout.write(`${line}\n`)) await once(stdio.stdout, 'drain');
  };

  const run = async <T>(taskId: string, work: (context: JobContext) => Promise<T>): Promise<T> => {
    if (job) throw new RpcError(RPC_ERROR.INVALID_REQUEST, `busy with task ${job.taskId}`);
    const abort = new AbortController();
    const context: JobContext = {
      signal: abort.signal,
      output: (stream, text) => peer.notify('output', { taskId, stream, text }),
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
    job?.abort.abort();
    await job?.ended.catch(() => undefined);
  };

  const methods: Record<string, (params: unknown) => Promise<unknown>> = {
    async initialize(raw) {
      await program.initialize?.(valid(initializeParams, raw));
      const result: InitializeResult = {
        protocolVersion: INSTANCE_PROTOCOL_VERSION,
        name: program.name,
        version: program.version,
      };
      return result;
    },
    async simulateWork(raw) {
      const { taskId, durationMs } = valid(simulateWorkParams, raw);
      return run(taskId, async ({ signal }) => {
        if (durationMs > 0) await longDelay(durationMs, signal);
        return {};
      });
    },
    async executeBatchJob(raw) {
      const params = valid(executeBatchJobParams, raw);
      return run(params.taskId, (context) => program.executeBatchJob(params, context));
    },
    async cancel(raw) {
      const { taskId } = valid(cancelParams, raw);
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
      return handler
        ? handler(params)
        : Promise.reject(new RpcError(RPC_ERROR.METHOD_NOT_FOUND, `no method ${JSON.stringify(method)}`));
    },
    onNotification: () => undefined,
  });

  const splitter = lineSplitter(MAX_LINE_BYTES);
  stdio.stdin.on('data', (chunk: Buffer) => {
    for (const line of splitter.push(chunk)) peer.receive(line);
  });
  stdio.stdin.once('end', () => void endJob().then(endServing));
  stdio.stdout.once('error', endServing);
  await served;
  await program.shutdown?.();
}

/** A timer of Node holds at most 2^31 - 1 ms (24.8 days); a simulated job may be longer (decisions: 30 days). */
async function longDelay(durationMs: number, signal: AbortSignal): Promise<void> {
  const maxTimerMs = 2 ** 31 - 1;
  for (let leftMs = durationMs; leftMs > 0; leftMs -= maxTimerMs) {
    await delay(Math.min(leftMs, maxTimerMs), undefined, { signal });
  }
}

function valid<T>(schema: z.ZodType<T>, params: unknown): T {
  const result = schema.safeParse(params);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw new RpcError(RPC_ERROR.INVALID_PARAMS, `${issue?.path.join('.') ?? 'params'}: ${issue?.message ?? 'invalid'}`);
}
