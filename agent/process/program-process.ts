/** One instance program as a child process: leader of its own group, called over standard input and output, and supervised
 *  until none of its processes is left. */
import { constants } from 'node:os';
import { basename, delimiter, dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { lineSplitter, ProtocolViolation } from '@workbench-hub/shared/instance-protocol/framing';
import { instanceHost } from '@workbench-hub/shared/instance-protocol/host';
import {
  INSTANCE_PROTOCOL_VERSION,
  MAX_LINE_BYTES,
  RPC_ERROR,
  RpcError,
} from '@workbench-hub/shared/instance-protocol/messages';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { execa } from 'execa';
import {
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
import { liesOnPath } from './find-program.js';
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
  const { platform, runtime, group } = options;
  const [file = '', ...parameters] = commandOf(settings, options);
  const environment = environmentOf(settings, options);
  const child = execa(file, parameters, {
    stdio: options.sandbox ? ['pipe', 'pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe'],
    buffer: false,
    reject: false,
    stripFinalNewline: false,
    cleanup: false,
    detached: platform.hasGroups,
    windowsHide: true,
    extendEnv: false,
    env: environment,
    preferLocal: true,
    localDir: LOCAL_DIRECTORY,
  });
  if (child.pid !== undefined) group?.addProcess(child.pid);
  const nameSpace = options.sandbox ? new Namespaces(child.stdio[3] as Readable, platform) : null;

  let exited = false;
  let violation: string | undefined;
  let holdBack: Promise<void> | undefined;
  let jobBegan: { readonly atMs: number; readonly newestPid: number | undefined } | undefined;

  const host = instanceHost(
    (line) => {
      if (!exited) child.stdin.write(`${line}\n`);
    },
    ({ taskId, stream, text }) => {
      holdBack = listener.onOutput(taskId, stream, text) ?? holdBack;
    },
  );

  const signal = (name: 'SIGTERM' | 'SIGKILL') => {
    if (exited || child.pid === undefined) return;
    if (name === 'SIGTERM' && nameSpace) return nameSpace.terminate();
    nameSpace?.kill();
    platform.signalGroup(child.pid, name);
  };
  const violate = (fault: string) => {
    violation ??= fault;
    signal('SIGKILL');
  };

  const splitter = lineSplitter(MAX_LINE_BYTES);
  const onStdout = (chunk: Buffer) => {
    if (violation !== undefined) return;
    try {
      for (const line of splitter.push(chunk)) host.receive(line);
    } catch (error) {
      if (!(error instanceof ProtocolViolation)) throw error;
      violate(error.message);
      return;
    }
    if (holdBack === undefined) return;
    const until = holdBack;
    holdBack = undefined;
    child.stdout.pause();
    void until.finally(() => child.stdout.resume());
  };
  child.stdout.on('data', onStdout);
  child.stderr.setEncoding('utf8').on('data', (text: string) => listener.onStderr(text));
  // The end of the process is reported separately.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => undefined);

  const follow = async (): Promise<ProgramEnd> => {
    if (child.pid === undefined) {
      await group?.end();
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
    const pid = child.pid;
    const [exitCode, exitSignal] = await new Promise<[number | null, string | null]>((resolve) => {
      child.once('exit', (code, name) => resolve([code, name]));
    });
    exited = true;
    // The leader is gone, but its group keeps its number as long as it has a member.
    platform.signalGroup(pid, 'SIGKILL');
    if (nameSpace && !(await nameSpace.end(runtime))) {
      listener.onStderr('processes in the sandbox did not end within 10 s of SIGKILL\n');
    }
    await group?.end();
    await options.sweep();
    await drained([child.stdout, child.stderr], runtime);
    if (violation !== undefined) return { kind: 'VIOLATION', fault: violation };
    return {
      kind: 'EXITED',
      ...(nameSpace ? endInside(exitCode, exitSignal) : { exitCode, signal: exitSignal }),
    };
  };

  const ended = follow().then((end) => {
    exited = true;
    host.close(new ProgramLost(`the instance program ${describeEnd(end)}`));
    return end;
  });

  const job = <T>(call: Promise<T>): Promise<T> =>
    call.catch((error: unknown) => {
      if (error instanceof ProtocolViolation) {
        violate(error.message);
        throw new ProgramLost(error.message, { cause: error });
      }
      throw error instanceof RpcError ? jobError(error) : error;
    });
  const { id, version, revision, labels } = settings.instance;

  return {
    pid: child.pid,
    directory: options.sandbox?.directory ?? null,
    ended,
    initialize: async () => {
      const answer = await job(
        host.initialize({
          protocolVersion: INSTANCE_PROTOCOL_VERSION,
          instance: { id, version, revision, labels: [...labels] },
        }),
      );
      // A wrapper may have started the program before it was added.
      if (child.pid !== undefined && !exited) group?.addProcess(child.pid);
      return answer;
    },
    simulateWork: ({ taskId, requestId }, durationMs) =>
      job(host.simulateWork({ taskId, requestId, durationMs })),
    executeBatchJob: async (run) => {
      jobBegan = { atMs: runtime.clock.monotonicMs(), newestPid: platform.newestPid() };
      group?.jobBegins();
      const { status, message } = await job(
        host.executeBatchJob({
          ...run,
          scripts: [...run.scripts],
          variables: { ...run.variables },
          environment: { ...run.environment },
        }),
      );
      return { status, message: message ?? null };
    },
    endOrphans: async (taskId) => {
      if (jobBegan) await group?.endJob();
      const isRecent = jobBegan && runtime.clock.monotonicMs() - jobBegan.atMs < IDS_LAST_MS;
      await options.sweep({ taskId, afterPid: isRecent ? jobBegan?.newestPid : undefined });
    },
    cancel: (taskId) => job(host.cancel(taskId)),
    shutdown: () => {
      // Only its end counts, not the answer.
      host.shutdown().catch(() => undefined);
      child.stdin.end();
    },
    terminate: () => signal('SIGTERM'),
    kill: () => signal('SIGKILL'),
  };
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
