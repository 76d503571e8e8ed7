import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { JobContext } from '@workbench-hub/shared/instance-protocol/program';
import type { GroupGuard } from './group-guard.js';
import { askGroupToEnd, GROUP_SPAWN_OPTIONS, killGroup } from './process-group.js';
import { ScriptPipe, type ScriptPipes } from './script-pipes.js';

/** How long a canceled script may take to end by itself after SIGTERM. */
const GRACE_MS = 2_000;
/** How long a stream may stay silent, once its script has ended, before it is given up: somebody else holds it. */
const DRAIN_SILENCE_MS = 500;

/** Of a script that is over so soon, what it printed lies in its pipes: they need not be watched. */
const MOMENT_MS = 20;

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
  const [stdout, stderr] = opened ?? [child.stdout, child.stderr];
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
  let fault: unknown;
  const watch = () => {
    try {
      for (const each of relays) each.watch();
    } catch (error) {
      // Nobody would read what it prints.
      fault = error;
      void killGroup(pid).catch(notEnded);
    }
  };
  const watching = opened && setTimeout(watch, MOMENT_MS);
  // What lies in a stream of `spawn` when the script ends, and nobody takes, is lost.
  if (!opened) watch();
  try {
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    const end = await exited;
    clearTimeout(watching);
    await killGroup(pid, { isYoung: performance.now() - startedAtMs < IDS_LAST_MS });
    if (fault !== undefined) throw fault;
    await Promise.all(relays.map((each) => each.drain()));
    return end;
  } finally {
    isOver = true;
    signal.removeEventListener('abort', onAbort);
    clearTimeout(watching);
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
    pipe.readNow();
    pipe.release();
  }
}

interface Relay {
  /** From now on hands on what is printed as it comes. */
  watch(): void;
  /** Resolves when everything that was printed is handed on; rejects with the error of `send`. */
  drain(): Promise<void>;
}

/** Hands on what comes out of a pipe as text, piece by piece as the system gives it (at most 64 KiB), with characters
 *  whole. */
function relay(source: ScriptPipe | Readable, send: (text: string) => Promise<void>): Relay {
  const decoder = new StringDecoder('utf8');
  let watched: WatchedStream | undefined;
  const watch = () => {
    watched ??= watchStream(source instanceof ScriptPipe ? source.stream() : source, decoder, send);
    return watched;
  };

  return {
    watch,
    async drain() {
      if (watched === undefined && source instanceof ScriptPipe) {
        // A second time for the end of it; when somebody still holds it there is none.
        for (let reads = 0; reads < 2 && !source.isEnded; reads++) {
          const piece = source.readNow();
          const text = piece ? decoder.write(piece) : source.isEnded ? decoder.end() : '';
          if (text !== '') await send(text);
        }
        if (source.isEnded) return;
      }
      await watch().drained();
    },
  };
}

interface WatchedStream {
  /** Resolves when the stream has ended, or is given up because somebody else holds it. */
  drained(): Promise<void>;
}

/** The next piece is read when the last was taken: a script that prints faster than its log is written waits. */
function watchStream(
  stream: Readable,
  decoder: StringDecoder,
  send: (text: string) => Promise<void>,
): WatchedStream {
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
  // It is awaited in drained(), perhaps much later.
  ended.catch(() => undefined);

  return {
    async drained() {
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
