import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { JobContext } from '@workbench-hub/shared/instance-protocol/program';
import type { GroupGuard } from './group-guard.js';
import { askGroupToEnd, GROUP_SPAWN_OPTIONS, killGroup } from './process-group.js';
import type { ScriptPipe, ScriptPipes } from './script-pipes.js';

/** How long a canceled script may take to end by itself after SIGTERM. */
const GRACE_MS = 2_000;
/** How long a stream may stay silent, once its script has ended, before it is given up: somebody else holds it. */
const DRAIN_SILENCE_MS = 500;

/** In so short a time the system does not give as many ids to processes as there are. */
const IDS_LAST_MS = 10_000;

/** What the scripts of a runner have in common. */
export interface ScriptHost {
  readonly guard: GroupGuard;
  readonly pipes: ScriptPipes;
}

export interface ScriptCommand {
  command: string;
  args: string[];
  workingDirectory: string;
  environment: NodeJS.ProcessEnv;
}

export interface ScriptEnd {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * Runs one script to its end, without standard input, and hands on what it prints. When it has ended, or `signal` is
 * aborted, nothing of its process group is left. Rejects with the system's error when the command cannot be started.
 */
export async function runScriptProcess(
  run: ScriptCommand,
  { guard, pipes }: ScriptHost,
  { signal, output, log }: JobContext,
): Promise<ScriptEnd> {
  const startedAtMs = performance.now();
  const opened = await pipes.open(2);
  const child = startChild(run, opened);
  const [stdout, stderr] = opened ? opened.map(({ readable }) => readable) : [child.stdout, child.stderr];
  if (!stdout || !stderr) throw new Error('a script was started without its output');
  const exited = new Promise<ScriptEnd>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (exitCode, signalName) => resolve({ exitCode, signal: signalName }));
  });
  const pid = child.pid;
  if (pid === undefined) {
    giveUp(opened);
    await exited; // rejects with what the start failed with
    throw new Error(`${run.command} did not start`);
  }

  guard.watch(pid);
  let isOver = false;
  let grace: NodeJS.Timeout | undefined;
  const notEnded = (error: Error) => log(`a canceled script could not be ended: ${error.message}`);
  const cancel = async (): Promise<void> => {
    await askGroupToEnd(pid);
    if (!isOver) grace = setTimeout(() => void killGroup(pid).catch(notEnded), GRACE_MS);
  };
  const onAbort = () => void cancel().catch(notEnded);
  const relays = [
    relay(stdout, (text) => output('stdout', text)),
    relay(stderr, (text) => output('stderr', text)),
  ];
  try {
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    const end = await exited;
    await killGroup(pid, { isYoung: performance.now() - startedAtMs < IDS_LAST_MS });
    await Promise.all(relays.map((each) => each.drain()));
    return end;
  } finally {
    isOver = true;
    signal.removeEventListener('abort', onAbort);
    clearTimeout(grace);
    guard.watch(undefined);
    for (const pipe of opened ?? []) pipe.release();
  }
}

/** Throws what `spawn` does for arguments that no program can be given: a variable with a NUL in it. */
function startChild(
  { command, args, workingDirectory, environment }: ScriptCommand,
  pipes: ScriptPipe[] | undefined,
): ChildProcess {
  try {
    return spawn(command, args, {
      cwd: workingDirectory,
      env: environment,
      stdio: ['ignore', pipes?.[0]?.writeFd ?? 'pipe', pipes?.[1]?.writeFd ?? 'pipe'],
      ...GROUP_SPAWN_OPTIONS,
    });
  } catch (error) {
    giveUp(pipes);
    throw error;
  } finally {
    // A pipe ends when no process holds it for writing any more, so the runner must not.
    for (const { writeFd } of pipes ?? []) closeSync(writeFd);
  }
}

/** Of a script that did not start. */
function giveUp(pipes: ScriptPipe[] | undefined): void {
  for (const pipe of pipes ?? []) {
    pipe.readable.destroy();
    pipe.release();
  }
}

interface Relay {
  /** Resolves when everything that was printed is handed on; rejects with the error of `send`. */
  drain(): Promise<void>;
}

/**
 * Hands on a stream as text, piece by piece as the system gives it (at most 64 KiB), with characters whole. The next
 * piece is read when the last was taken: a script that prints faster than its log is written waits.
 */
function relay(stream: Readable, send: (text: string) => Promise<void>): Relay {
  const decoder = new StringDecoder('utf8');
  let pieces = 0;
  let sending = false;
  stream.on('data', (chunk: Buffer) => {
    pieces++;
    const text = decoder.write(chunk);
    if (text === '') return;
    sending = true;
    stream.pause();
    const sent = () => {
      sending = false;
      stream.resume();
    };
    send(text).then(sent, (error: Error) => void stream.destroy(error));
  });
  const ended = new Promise<void>((resolve, reject) => {
    stream.once('error', reject);
    stream.once('close', () => {
      const rest = decoder.end();
      if (rest === '') resolve();
      else send(rest).then(resolve, reject);
    });
  });
  // It is awaited in drain(), perhaps much later.
  ended.catch(() => undefined);

  return {
    async drain() {
      let seen = pieces;
      const watching = setInterval(() => {
        if (seen === pieces && !sending) stream.destroy();
        seen = pieces;
      }, DRAIN_SILENCE_MS);
      try {
        await ended;
      } finally {
        clearInterval(watching);
      }
    },
  };
}
