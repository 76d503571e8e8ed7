/** One instance program as a child process: leader of its own group, called over standard input and output, and supervised
 *  until none of its processes is left. */
import { constants } from 'node:os';
import { basename, delimiter, dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { lineSplitter, ProtocolViolation } from '@workbench-hub/shared/instance-protocol/framing';
import { type InstanceHost, instanceHost } from '@workbench-hub/shared/instance-protocol/host';
import {
  INSTANCE_PROTOCOL_VERSION,
  MAX_LINE_BYTES,
  RPC_ERROR,
  RpcError,
} from '@workbench-hub/shared/instance-protocol/messages';
import { liesOnPath } from '@workbench-hub/shared/runtime/find-program';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { execa } from 'execa';
import {
  type BatchRun,
  JobCanceled,
  JobFailed,
  type Program,
  type ProgramEnd,
  type ProgramListener,
  ProgramLost,
  type ProgramSettings,
} from '../core/ports/programs.js';
import type { PreparedDirectory } from '../core/ports/workspace.js';
import { describeEnd } from '../core/program-end.js';
import type { SandboxSettings } from '../core/sandbox.js';
import type { TaskNames } from '../core/task-names.js';
import { Namespaces } from './namespaces.js';
import { COOKIE_VARIABLE, type Platform, type TaskProcesses } from './platform.js';
import type { Sandbox } from './sandbox.js';

/** Sandbox for one program, and the only directory in which it may write. */
export interface SandboxOfProgram {
  readonly sandbox: Sandbox;
  readonly directory: PreparedDirectory;
  readonly settings: SandboxSettings;
}

/** A control group that never fails: the adapter logs errors and continues without it. */
export interface GroupOfProgram {
  addProcess(pid: number): void;
  jobBegins(): void;
  endJob(): Promise<void>;
  end(): Promise<void>;
}

export interface ProcessOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly cookie: string;
  readonly platform: Platform;
  readonly runtime: Runtime;
  /** Contains all descendants of the program; null where control groups are unavailable. */
  readonly group: GroupOfProgram | null;
  /** Null: no sandbox. */
  readonly sandbox: SandboxOfProgram | null;
  /** Ends every process with the cookie; for a task only those started for it. Never rejects. */
  readonly sweep: (task?: TaskProcesses) => Promise<void>;
}

/** Maximum time to read the rest of its pipes when no process holds them. */
const DRAIN_LIMIT_MS = 2000;

/** Period in which ids cannot wrap around. */
const IDS_LAST_MS = 10_000;

/** Start of the upward search for node_modules/.bin: bundled programs need no PATH. */
const LOCAL_DIRECTORY = dirname(fileURLToPath(import.meta.url));

export function startProgram(
  settings: ProgramSettings,
  listener: ProgramListener,
  options: ProcessOptions,
): Program {
  return new ProgramProcess(settings, listener, options);
}

class ProgramProcess implements Program {
  readonly ended: Promise<ProgramEnd>;
  readonly #settings: ProgramSettings;
  readonly #listener: ProgramListener;
  readonly #options: ProcessOptions;
  readonly #launched: Launched;
  readonly #nameSpace: Namespaces | null;
  readonly #host: InstanceHost;
  readonly #splitter = lineSplitter(MAX_LINE_BYTES);
  #exited = false;
  #violation: string | undefined;
  #holdBack: Promise<void> | undefined;
  #jobBegan: { readonly atMs: number; readonly newestPid: number | undefined } | undefined;

  constructor(settings: ProgramSettings, listener: ProgramListener, options: ProcessOptions) {
    this.#settings = settings;
    this.#listener = listener;
    this.#options = options;
    this.#launched = launch(settings, options);
    const { child } = this.#launched;
    if (child.pid !== undefined) options.group?.addProcess(child.pid);
    this.#nameSpace = options.sandbox ? new Namespaces(child.stdio[3] as Readable, options.platform) : null;
    this.#host = instanceHost(
      (line) => {
        if (!this.#exited) child.stdin.write(`${line}\n`);
      },
      ({ taskId, stream, text }) => {
        this.#holdBack = listener.onOutput(taskId, stream, text) ?? this.#holdBack;
      },
    );
    child.stdout.on('data', (chunk: Buffer) => this.#onStdout(chunk));
    child.stderr.setEncoding('utf8').on('data', (text: string) => listener.onStderr(text));
    // The end of the process is reported separately.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => undefined);
    this.ended = this.#follow().then((end) => {
      this.#exited = true;
      this.#host.close(new ProgramLost(`the instance program ${describeEnd(end)}`));
      return end;
    });
  }

  get pid(): number | undefined {
    return this.#launched.child.pid;
  }

  get directory(): PreparedDirectory | null {
    return this.#options.sandbox?.directory ?? null;
  }

  async initialize(): Promise<{ readonly name: string; readonly version: string }> {
    const { id, version, revision, labels } = this.#settings.instance;
    const answer = await this.#call(
      this.#host.initialize({
        protocolVersion: INSTANCE_PROTOCOL_VERSION,
        instance: { id, version, revision, labels: [...labels] },
      }),
    );
    // A wrapper may have started the program before it was added.
    if (this.pid !== undefined && !this.#exited) this.#options.group?.addProcess(this.pid);
    return answer;
  }

  simulateWork({ taskId, requestId }: TaskNames, durationMs: number): Promise<void> {
    return this.#call(this.#host.simulateWork({ taskId, requestId, durationMs }));
  }

  async executeBatchJob(
    run: BatchRun,
  ): Promise<{ readonly status: 'OK' | 'ERROR'; readonly message: string | null }> {
    const { runtime, platform, group } = this.#options;
    this.#jobBegan = { atMs: runtime.clock.monotonicMs(), newestPid: platform.newestPid() };
    group?.jobBegins();
    const { status, message } = await this.#call(
      this.#host.executeBatchJob({
        ...run,
        scripts: [...run.scripts],
        variables: { ...run.variables },
        environment: { ...run.environment },
      }),
    );
    return { status, message: message ?? null };
  }

  async endOrphans(taskId: string): Promise<void> {
    const { runtime, group, sweep } = this.#options;
    if (this.#jobBegan) await group?.endJob();
    const isRecent = this.#jobBegan && runtime.clock.monotonicMs() - this.#jobBegan.atMs < IDS_LAST_MS;
    await sweep({ taskId, afterPid: isRecent ? this.#jobBegan?.newestPid : undefined });
  }

  cancel(taskId: string): Promise<void> {
    return this.#call(this.#host.cancel(taskId));
  }

  shutdown(): void {
    // Only its end counts, not the answer.
    this.#host.shutdown().catch(() => undefined);
    this.#launched.child.stdin.end();
  }

  terminate(): void {
    this.#signal('SIGTERM');
  }

  kill(): void {
    this.#signal('SIGKILL');
  }

  #signal(name: 'SIGTERM' | 'SIGKILL'): void {
    if (this.#exited || this.pid === undefined) return;
    if (name === 'SIGTERM' && this.#nameSpace) {
      this.#nameSpace.terminate();
      return;
    }
    this.#nameSpace?.kill();
    this.#options.platform.signalGroup(this.pid, name);
  }

  #violate(fault: string): void {
    this.#violation ??= fault;
    this.#signal('SIGKILL');
  }

  #onStdout(chunk: Buffer): void {
    if (this.#violation !== undefined) return;
    try {
      for (const line of this.#splitter.push(chunk)) this.#host.receive(line);
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

  async #call<T>(call: Promise<T>): Promise<T> {
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

  /** Resolves when the process and its descendants are gone and its output was read. */
  async #follow(): Promise<ProgramEnd> {
    const { platform, runtime, group, sweep } = this.#options;
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
    // The leader is gone, but its group keeps its number as long as it has a member.
    platform.signalGroup(pid, 'SIGKILL');
    if (this.#nameSpace && !(await this.#nameSpace.end(runtime))) {
      this.#listener.onStderr('processes in the sandbox did not end within 10 s of SIGKILL\n');
    }
    await group?.end();
    await sweep();
    await drained([child.stdout, child.stderr], runtime);
    if (this.#violation !== undefined) return { kind: 'VIOLATION', fault: this.#violation };
    return {
      kind: 'EXITED',
      ...(this.#nameSpace ? endInside(exitCode, exitSignal) : { exitCode, signal: exitSignal }),
    };
  }
}

type Launched = ReturnType<typeof launch>;

function launch(settings: ProgramSettings, options: ProcessOptions) {
  const [file = '', ...parameters] = commandOf(settings, options);
  const environment = environmentOf(settings, options);
  const child = execa(file, parameters, {
    stdio: options.sandbox ? ['pipe', 'pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe'],
    buffer: false,
    reject: false,
    stripFinalNewline: false,
    cleanup: false,
    detached: options.platform.hasGroups,
    windowsHide: true,
    extendEnv: false,
    env: environment,
    preferLocal: true,
    localDir: LOCAL_DIRECTORY,
  });
  return { child, file, environment };
}

/** End of a program that has no process. */
async function reasonNotStarted({ child, file, environment }: Launched): Promise<ProgramEnd> {
  const { code, originalMessage } = await child;
  // With an unreadable folder in PATH, a missing program looks like a forbidden one.
  const isMissing =
    code === 'ENOENT' ||
    (code === 'EACCES' &&
      file === basename(file) &&
      !(await liesOnPath(file, environment['PATH'] ?? '', LOCAL_DIRECTORY)));
  if (isMissing) return { kind: 'NOT_FOUND', program: file };
  return { kind: 'NOT_STARTED', program: file, reason: originalMessage ?? code ?? 'unknown reason' };
}

function commandOf({ command }: ProgramSettings, { sandbox }: ProcessOptions): readonly string[] {
  return sandbox ? sandbox.sandbox.wrap(command, sandbox.directory, sandbox.settings) : command;
}

/** End of the program, from bubblewrap's exit code, which is 128 plus the number of a signal. */
function endInside(exitCode: number | null, signal: string | null) {
  const name = Object.entries(constants.signals).find(([, number]) => exitCode === 128 + number)?.[0];
  return name === undefined ? { exitCode, signal } : { exitCode: null, signal: name };
}

/** The agent's own Node comes last in PATH, for programs that are Node scripts. */
function environmentOf(settings: ProgramSettings, options: ProcessOptions): Record<string, string> {
  const inherited = options.sandbox?.sandbox.environment(options.environment) ?? options.environment;
  const environment: Record<string, string> = { ...inherited, ...settings.env };
  const path = environment['PATH'];
  environment['PATH'] = [...(path ? [path] : []), dirname(process.execPath)].join(delimiter);
  environment[COOKIE_VARIABLE] = options.cookie;
  return environment;
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
