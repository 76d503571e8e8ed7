/** The program's side of the instance protocol, for programs in TypeScript or JavaScript. */
import { Console } from 'node:console';
import type { Readable, Writable } from 'node:stream';
import type { JobKind } from '../domain/instance.js';
import { ValidationError } from '../validation-error.js';
import { lineSplitter, ProtocolViolation } from './framing.js';
import type { InstanceProgram } from './instance-program.js';
import { lineWriter } from './line-writer.js';
import {
  cancelParams,
  executeBatchJobParams,
  INSTANCE_PROTOCOL_VERSION,
  type InitializeParams,
  type InitializeResult,
  initializeParams,
  MAX_LINE_BYTES,
  RPC_ERROR,
  RpcError,
  type ServedInstanceProfile,
  SHARED_PROTOCOL_VERSION,
  simulateWorkParams,
  startInstanceParams,
  stopInstanceParams,
} from './messages.js';
import { readAs } from './parse-message.js';
import { RpcPeer } from './peer.js';
import { ServedInstance } from './served-instance.js';
import { readStandardInput, readStream } from './standard-input.js';

export type { InstanceProgram, JobContext } from './instance-program.js';

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
 * the running jobs have ended and everything is written.
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
  server.flush();
  // The process exits next: buffered output would be lost. The callback also comes for a broken pipe.
  await new Promise<void>((resolve) => stdout.write('', () => resolve()));
}

class ProgramServer {
  /** Resolves when nothing more is served. */
  readonly served: Promise<void>;
  readonly #program: InstanceProgram;
  readonly #splitter = lineSplitter(MAX_LINE_BYTES);
  readonly #peer: RpcPeer;
  readonly #flush: () => void;
  /** Instances by id: in version 1 exactly one, from `initialize` on. */
  readonly #instances = new Map<string, ServedInstance>();
  #endServing!: () => void;
  #state: 'new' | 'initializing' | 'ready' | 'ending' = 'new';
  #version: InitializeResult['protocolVersion'] = INSTANCE_PROTOCOL_VERSION;

  constructor(program: InstanceProgram, stdout: Writable) {
    this.#program = program;
    this.served = new Promise<void>((resolve) => {
      this.#endServing = resolve;
    });
    const { write, flush } = lineWriter(stdout);
    this.#flush = flush;
    this.#peer = new RpcPeer(write, {
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

  /** Ends the running jobs, then the serving. */
  end(): void {
    void this.#endJobs().then(() => setImmediate(this.#endServing));
  }

  /** Writes everything that was sent. */
  flush(): void {
    this.#flush();
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
    const methods = this.#version === SHARED_PROTOCOL_VERSION ? this.#methodsOfMany : this.#methods;
    const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
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
      return this.#instance(params.instanceId).simulateWork(params);
    },
    executeBatchJob: (raw) => {
      const params = readAs(executeBatchJobParams, raw);
      return this.#instance(params.instanceId).executeBatchJob(params);
    },
    cancel: (raw) => {
      const { instanceId, taskId } = readAs(cancelParams, raw);
      this.#find(instanceId)?.cancel(taskId);
      return null;
    },
    shutdown: async () => {
      await this.#endJobs();
      setImmediate(this.#endServing);
      return null;
    },
  };

  /** Methods of version 2. */
  readonly #methodsOfMany: Readonly<Record<string, (params: unknown) => unknown>> = {
    ...this.#methods,
    startInstance: (raw) => this.#startInstance(readAs(startInstanceParams, raw).instance),
    stopInstance: (raw) => this.#stopInstance(readAs(stopInstanceParams, raw).instanceId),
  };

  async #initialize(params: InitializeParams): Promise<InitializeResult> {
    const { name, version, isShareable, startsScripts, runs } = this.#program;
    this.#state = 'initializing';
    const isOffered = params.supportedVersions?.includes(SHARED_PROTOCOL_VERSION) === true;
    const isShared = isOffered && isShareable === true;
    try {
      await this.#program.initialize?.(params);
      if (!isShared) await this.#add(params.instance);
    } catch (error) {
      if (this.#state === 'initializing') this.#state = 'new';
      throw error;
    }
    if (this.#state === 'initializing') this.#state = 'ready';
    if (isShared) this.#version = SHARED_PROTOCOL_VERSION;
    return {
      protocolVersion: this.#version,
      name,
      version,
      ...(isShared && startsScripts !== undefined ? { startsScripts } : {}),
      ...(runs === undefined ? {} : { runs: named(runs) }),
    };
  }

  async #startInstance(instance: ServedInstanceProfile): Promise<null> {
    this.#refuseUnlessReady();
    if (this.#instances.has(instance.id))
      throw new RpcError(RPC_ERROR.INVALID_REQUEST, `the instance ${instance.id} is started already`);
    await this.#add(instance);
    return null;
  }

  async #add(instance: ServedInstanceProfile): Promise<void> {
    const { id } = instance;
    const isShared = this.#version === SHARED_PROTOCOL_VERSION;
    const added = new ServedInstance({
      id,
      program: this.#program,
      sendOutput: (output) => this.#peer.notify('output', output),
      log: isShared
        ? (text) => void this.#peer.notify('log', { instanceId: id, text })
        : (text) => void process.stderr.write(text),
    });
    this.#instances.set(id, added);
    try {
      await this.#program.startInstance?.(instance);
      if (this.#state !== 'ending') added.becomeReady();
    } catch (error) {
      this.#instances.delete(id);
      throw error;
    }
  }

  async #stopInstance(id: string): Promise<null> {
    const instance = this.#instances.get(id);
    if (!instance) throw noInstance(id);
    await instance.end();
    await this.#program.stopInstance?.(id);
    if (this.#instances.get(id) === instance) this.#instances.delete(id);
    return null;
  }

  /** Instance for a job; throws {@link RpcError} when there is none. */
  #instance(id: string | undefined): ServedInstance {
    this.#refuseUnlessReady();
    const found = this.#find(id);
    if (!found) throw noInstance(id);
    return found;
  }

  /** In version 1, messages name no instance. */
  #find(id: string | undefined): ServedInstance | undefined {
    if (this.#version === SHARED_PROTOCOL_VERSION)
      return id === undefined ? undefined : this.#instances.get(id);
    const [only] = this.#instances.values();
    return only;
  }

  #refuseUnlessReady(): void {
    if (this.#state === 'new' || this.#state === 'initializing')
      throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'not initialized');
    if (this.#state === 'ending') throw new RpcError(RPC_ERROR.INVALID_REQUEST, 'shutting down');
  }

  async #endJobs(): Promise<void> {
    this.#state = 'ending';
    await Promise.all([...this.#instances.values()].map((instance) => instance.end()));
  }
}

/** The kind in the form of the message. */
function named({ models, scripts, points }: JobKind): NonNullable<InitializeResult['runs']> {
  return {
    ...(models === undefined ? {} : { models: [...models] }),
    ...(scripts === undefined ? {} : { scripts: [...scripts] }),
    ...(points === undefined ? {} : { points }),
  };
}

function noInstance(id: string | undefined): RpcError {
  return new RpcError(RPC_ERROR.INVALID_REQUEST, `no instance ${JSON.stringify(id ?? null)} is started`);
}

function invalidParams({ path, message }: ValidationError): RpcError {
  return new RpcError(RPC_ERROR.INVALID_PARAMS, `${path || 'params'}: ${message}`);
}
