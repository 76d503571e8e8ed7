/** The process of an instance program: leader of its own group, called over standard input and output, and followed until none
 *  of its processes is left. */
import type { Readable } from 'node:stream';
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import { lineSplitter, ProtocolViolation } from '@workbench-hub/shared/instance-protocol/framing';
import { type InstanceHost, instanceHost } from '@workbench-hub/shared/instance-protocol/host';
import { lineWriter } from '@workbench-hub/shared/instance-protocol/line-writer';
import {
  INSTANCE_PROTOCOL_VERSION,
  type InitializeResult,
  type LogParams,
  MAX_LINE_BYTES,
  type OutputParams,
  RPC_ERROR,
  RpcError,
  SHARED_PROTOCOL_VERSION,
} from '@workbench-hub/shared/instance-protocol/messages';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { JobCanceled, JobFailed, type ProgramEnd, ProgramLost } from '../core/ports/programs.js';
import { describeEnd } from '../core/program-end.js';
import {
  endInside,
  type Launched,
  type LaunchOptions,
  launch,
  type ProcessCommand,
  reasonNotStarted,
} from './launch.js';
import { Namespaces } from './namespaces.js';
import type { Platform, TaskProcesses } from './platform.js';

/** A control group that never fails: the adapter logs errors and continues without it. */
export interface GroupOfProgram {
  addProcess(pid: number): void;
  jobBegins(): void;
  endJob(): Promise<void>;
  /** Ends the processes since {@link jobBegins} that `isSpared` does not spare. */
  endAllBut(isSpared: (pid: number) => Promise<boolean>): Promise<void>;
  end(): Promise<void>;
}

export interface ProcessOptions extends LaunchOptions {
  readonly platform: Platform;
  readonly runtime: Runtime;
  /** Contains all descendants of the program; null where control groups are unavailable. */
  readonly group: GroupOfProgram | null;
  /** Ends every process with the cookie; for a task only those started for it. Never rejects. */
  readonly sweep: (cookie: string, task?: TaskProcesses) => Promise<void>;
}

export interface ProcessListener {
  /** Output of a script. A returned promise blocks the program until it is settled. */
  onOutput(output: OutputParams): Promise<void> | undefined;
  /** The program's log for one instance. */
  onLog(log: LogParams): void;
  onStderr(text: string): void;
  /** The process itself is gone; its calls have not been rejected yet. */
  onExit(): void;
}

/** Maximum time to read the rest of its pipes when no process holds them. */
const DRAIN_LIMIT_MS = 2000;

export class ProgramProcess {
  /** Resolves when the process and its descendants are gone and its output was read. */
  readonly ended: Promise<ProgramEnd>;
  readonly host: InstanceHost;
  readonly options: ProcessOptions;
  readonly #listener: ProcessListener;
  readonly #launched: Launched;
  readonly #nameSpace: Namespaces | null;
  readonly #splitter = lineSplitter(MAX_LINE_BYTES);
  readonly #flush: () => void;
  #exited = false;
  #violation: string | undefined;
  #holdBack: Promise<void> | undefined;

  constructor(command: ProcessCommand, listener: ProcessListener, options: ProcessOptions) {
    this.#listener = listener;
    this.options = options;
    this.#launched = launch(command, options);
    const { child } = this.#launched;
    if (child.pid !== undefined) options.group?.addProcess(child.pid);
    this.#nameSpace = options.sandbox ? new Namespaces(child.stdio[3] as Readable, options.platform) : null;
    const { write, flush } = lineWriter(child.stdin);
    this.#flush = flush;
    this.host = instanceHost(
      (line) => {
        if (!this.#exited) void write(line);
      },
      (output) => {
        this.#holdBack = listener.onOutput(output) ?? this.#holdBack;
      },
      (log) => listener.onLog(log),
    );
    child.stdout.on('data', (chunk: Buffer) => this.#onStdout(chunk));
    child.stderr.setEncoding('utf8').on('data', (text: string) => listener.onStderr(text));
    // The end of the process is reported separately.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => undefined);
    this.ended = this.#follow().then((end) => {
      this.#exited = true;
      this.host.close(new ProgramLost(`the instance program ${describeEnd(end)}`));
      return end;
    });
  }

  /** Undefined when it could not be started. */
  get pid(): number | undefined {
    return this.#launched.child.pid;
  }

  /** `isShareable`: offers version 2 of the protocol. Rejects with {@link ProgramLost}, or with the program's error. */
  async initialize(profile: InstanceProfile, isShareable: boolean): Promise<InitializeResult> {
    const answer = await this.call(
      this.host.initialize({
        protocolVersion: INSTANCE_PROTOCOL_VERSION,
        ...(isShareable ? { supportedVersions: [INSTANCE_PROTOCOL_VERSION, SHARED_PROTOCOL_VERSION] } : {}),
        instance: servedProfile(profile),
      }),
    );
    if (answer.protocolVersion !== INSTANCE_PROTOCOL_VERSION && !isShareable) {
      const fault = `it chose version ${answer.protocolVersion} of the protocol, which it was not offered`;
      this.#violate(fault);
      throw new ProgramLost(fault);
    }
    // A wrapper may have started the program before it was added.
    if (this.pid !== undefined && !this.#exited) this.options.group?.addProcess(this.pid);
    return answer;
  }

  /** Awaits a call. Rejects with JobFailed, JobCanceled or {@link ProgramLost}. */
  async call<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      if (error instanceof ProtocolViolation) {
        this.#violate(error.message);
        throw new ProgramLost(error.message, { cause: error });
      }
      throw error instanceof RpcError ? jobError(error) : error;
    }
  }

  /** Asks it to end: by message, and by the end of its standard input. */
  shutdown(): void {
    // Only its end counts, not the answer.
    this.host.shutdown().catch(() => undefined);
    this.#flush();
    this.#launched.child.stdin.end();
  }

  /** Signals its group. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    if (this.#exited || this.pid === undefined) return;
    if (name === 'SIGTERM' && this.#nameSpace) {
      this.#nameSpace.terminate();
      return;
    }
    this.#nameSpace?.kill();
    this.options.platform.signalGroup(this.pid, name);
  }

  #violate(fault: string): void {
    this.#violation ??= fault;
    this.signal('SIGKILL');
  }

  #onStdout(chunk: Buffer): void {
    if (this.#violation !== undefined) return;
    try {
      for (const line of this.#splitter.push(chunk)) this.host.receive(line);
    } catch (error) {
      if (!(error instanceof ProtocolViolation)) throw error;
      this.#violate(error.message);
      return;
    }
    if (this.#holdBack === undefined) return;
    const until = this.#holdBack;
    this.#holdBack = undefined;
    const { stdout } = this.#launched.child;
    stdout.pause();
    void until.finally(() => stdout.resume());
  }

  async #follow(): Promise<ProgramEnd> {
    const { platform, runtime, group, sweep, cookie } = this.options;
    const { child } = this.#launched;
    if (child.pid === undefined) {
      await group?.end();
      return reasonNotStarted(this.#launched);
    }
    const pid = child.pid;
    const [exitCode, exitSignal] = await new Promise<[number | null, string | null]>((resolve) => {
      child.once('exit', (code, name) => resolve([code, name]));
    });
    this.#exited = true;
    this.#listener.onExit();
    // The leader is gone, but its group keeps its number as long as it has a member.
    platform.signalGroup(pid, 'SIGKILL');
    if (this.#nameSpace && !(await this.#nameSpace.end(runtime))) {
      this.#listener.onStderr('processes in the sandbox did not end within 10 s of SIGKILL\n');
    }
    await group?.end();
    await sweep(cookie);
    await drained([child.stdout, child.stderr], runtime);
    if (this.#violation !== undefined) return { kind: 'VIOLATION', fault: this.#violation };
    return {
      kind: 'EXITED',
      ...(this.#nameSpace ? endInside(exitCode, exitSignal) : { exitCode, signal: exitSignal }),
    };
  }
}

/** Profile of an instance as the protocol names it. */
export function servedProfile({ id, version, revision, labels }: InstanceProfile) {
  return { id, version, revision, labels: [...labels] };
}

function jobError(error: RpcError): Error {
  switch (error.code) {
    case RPC_ERROR.CANCELED:
      return new JobCanceled(error.message, { cause: error });
    case RPC_ERROR.JOB_FAILED:
      return new JobFailed(error.message, { cause: error });
    default:
      return new JobFailed(`the instance program answered with error ${error.code}: ${error.message}`, {
        cause: error,
      });
  }
}

/** Resolves when both streams were read to their end, or after a limit. */
async function drained(streams: readonly Readable[], runtime: Runtime): Promise<void> {
  const limit = new AbortController();
  const closed = Promise.all(
    streams.map(
      (stream) => stream.closed || new Promise<void>((resolve) => stream.once('close', () => resolve())),
    ),
  );
  const overdue = pause(runtime.timers, DRAIN_LIMIT_MS, limit.signal).catch(() => undefined);
  await Promise.race([closed, overdue]);
  limit.abort();
  for (const stream of streams) stream.destroy();
}
