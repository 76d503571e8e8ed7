import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { JobContext } from '@workbench-hub/shared/instance-protocol/program';
import type { GroupGuard } from './group-guard.js';
import { askGroupToEnd, GROUP_SPAWN_OPTIONS, groupEnded, killGroup } from './process-group.js';
import { ScriptPipe, type ScriptPipes } from './script-pipes.js';
import type { HostSystem, OutputDecoder, StartedCommand } from './systems/host-system.js';

/** Time for a canceled script, and for the programs that it runs, to end after SIGTERM. */
const GRACE_MS = 5_000;
/** Silence after which the stream of an ended script is closed although another process holds it. */
const DRAIN_SILENCE_MS = 500;

/** Run time up to which a script's output is only read at its end. */
const MOMENT_MS = 20;

/** Period in which ids cannot wrap around. */
const IDS_LAST_MS = 10_000;

/** Shared by the scripts of a runner. */
export interface ScriptHost {
  readonly guard: GroupGuard;
  readonly pipes: ScriptPipes;
  readonly system: Pick<HostSystem, 'outputDecoder'>;
}

export interface ScriptCommand extends StartedCommand {
  workingDirectory: string;
  environment: NodeJS.ProcessEnv;
}

export interface ScriptEnd {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * Runs one script to its end, without standard input, and forwards its output. When it has ended, or `signal` is aborted, nothing
 * of its process group is left. Rejects with the system's error when the command cannot be started.
 */
export async function runScriptProcess(
  run: ScriptCommand,
  { guard, pipes, system }: ScriptHost,
  { signal, output, log }: JobContext,
): Promise<ScriptEnd> {
  const startedAtMs = performance.now();
  const isYoung = () => performance.now() - startedAtMs < IDS_LAST_MS;
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
    await exited; // rejects with the reason
    throw new Error(`${run.command} did not start`);
  }

  const unwatch = guard.watch(pid);
  let isOver = false;
  let grace: NodeJS.Timeout | undefined;
  const notEnded = (error: Error) => log(`a canceled script could not be ended: ${error.message}`);
  const cancel = async (): Promise<void> => {
    await askGroupToEnd(pid);
    if (!isOver) grace = setTimeout(() => void killGroup(pid).catch(notEnded), GRACE_MS);
  };
  const onAbort = () => void cancel().catch(notEnded);
  const relays = [
    relay(stdout, system.outputDecoder(), (text) => output('stdout', text)),
    relay(stderr, system.outputDecoder(), (text) => output('stderr', text)),
  ];
  let fault: unknown;
  const watch = () => {
    try {
      for (const each of relays) each.watch();
    } catch (error) {
      // No process would read the output.
      fault = error;
      void killGroup(pid).catch(notEnded);
    }
  };
  const watching = opened && setTimeout(watch, MOMENT_MS);
  // Unread output of `spawn`'s stream would be lost when the script ends.
  if (!opened) watch();
  try {
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    const end = await exited;
    clearTimeout(watching);
    if (signal.aborted) {
      // A shell ends at once, and the solver that it has run still saves its state; its output is read meanwhile.
      watch();
      await groupEnded(pid, { withinMs: GRACE_MS, isYoung });
    }
    await killGroup(pid, { isYoung: isYoung(), hasEnded: true });
    if (fault !== undefined) throw fault;
    await Promise.all(relays.map((each) => each.drain()));
    return end;
  } finally {
    isOver = true;
    signal.removeEventListener('abort', onAbort);
    clearTimeout(watching);
    clearTimeout(grace);
    unwatch();
    for (const pipe of opened ?? []) pipe.release();
  }
}

/** Throws like `spawn` for invalid arguments, such as a variable with a NUL. */
function startChild(
  { command, args, windowsVerbatimArguments = false, workingDirectory, environment }: ScriptCommand,
  pipes: ScriptPipe[] | undefined,
): ChildProcess {
  try {
    return spawn(command, [...args], {
      windowsVerbatimArguments,
      cwd: workingDirectory,
      env: environment,
      stdio: ['ignore', pipes?.[0]?.writeFd ?? 'pipe', pipes?.[1]?.writeFd ?? 'pipe'],
      ...GROUP_SPAWN_OPTIONS,
    });
  } catch (error) {
    giveUp(pipes);
    throw error;
  } finally {
    // A pipe ends when no process holds its writing end, so the runner must close it.
    for (const { writeFd } of pipes ?? []) closeSync(writeFd);
  }
}

/** End of a script that did not start. */
function giveUp(pipes: ScriptPipe[] | undefined): void {
  for (const pipe of pipes ?? []) {
    pipe.readNow();
    pipe.release();
  }
}

interface Relay {
  /** Begins to forward output. */
  watch(): void;
  /** Resolves when all output was forwarded; rejects with the error of `send`. */
  drain(): Promise<void>;
}

/** Forwards the output of a pipe as text, in pieces of at most 64 KiB with whole characters. */
function relay(
  source: ScriptPipe | Readable,
  decoder: OutputDecoder,
  send: (text: string) => Promise<void>,
): Relay {
  let watched: WatchedStream | undefined;
  const watch = () => {
    watched ??= watchStream(source instanceof ScriptPipe ? source.stream() : source, decoder, send);
    return watched;
  };

  return {
    watch,
    async drain() {
      if (watched === undefined && source instanceof ScriptPipe) {
        forwardNow(source, decoder, send);
        if (source.isEnded) return;
      }
      await watch().drained();
    },
  };
}

/** Forwards what an unwatched pipe holds at the end of its script. */
function forwardNow(pipe: ScriptPipe, decoder: OutputDecoder, send: (text: string) => Promise<void>): void {
  // Read again for the end, which is missing while another process holds the pipe.
  for (let reads = 0; reads < 2 && !pipe.isEnded; reads++) {
    const piece = pipe.readNow();
    const text = piece ? decoder.write(piece) : pipe.isEnded ? decoder.end() : '';
    // The job's response follows over the same connection: nothing may be held back any longer.
    if (text !== '') void send(text).catch(() => undefined);
  }
}

interface WatchedStream {
  /** Resolves when the stream has ended, or is closed because another process holds it. */
  drained(): Promise<void>;
}

/** Back pressure: the next piece is read when the last was accepted. */
function watchStream(
  stream: Readable,
  decoder: OutputDecoder,
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
  // Awaited in drained(), perhaps much later.
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
