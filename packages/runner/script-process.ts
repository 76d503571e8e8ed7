import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as delay } from 'node:timers/promises';
import type { JobContext } from '@workbench-hub/shared/instance-protocol/program';
import type { GroupGuard } from './group-guard.js';
import { askGroupToEnd, GROUP_SPAWN_OPTIONS, killGroup } from './process-group.js';
import { openPipes, type ScriptPipe } from './script-pipes.js';

/** How long a canceled script may take to end by itself after SIGTERM. */
const GRACE_MS = 2_000;
/** How long a stream may stay silent, once its script has ended, before it is given up: somebody else holds it. */
const DRAIN_SILENCE_MS = 500;

/** In so short a time the system does not give as many ids to processes as there are. */
const IDS_LAST_MS = 10_000;

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
  guard: GroupGuard,
  { signal, output, log }: JobContext,
): Promise<ScriptEnd> {
  const startedAtMs = performance.now();
  const pipes = await openPipes(['stdout', 'stderr']);
  const child = startChild(run, pipes);
  const [stdout, stderr] = pipes ? pipes.map(({ readable }) => readable) : [child.stdout, child.stderr];
  if (!stdout || !stderr) throw new Error('a script was started without its output');
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const pid = child.pid;
  if (pid === undefined) {
    stdout.destroy();
    stderr.destroy();
    await exited; // rejects with what the start failed with
    throw new Error(`${run.command} did not start`);
  }

  guard.watch(pid);
  const graceOver = new AbortController();
  const cancel = async (): Promise<void> => {
    await askGroupToEnd(pid);
    await delay(GRACE_MS, undefined, { signal: graceOver.signal });
    await killGroup(pid);
  };
  const onAbort = (): void => {
    cancel().catch((error: Error) => {
      if (!graceOver.signal.aborted) log(`a canceled script could not be ended: ${error.message}`);
    });
  };
  const relays = [
    relay(stdout, (text) => output('stdout', text)),
    relay(stderr, (text) => output('stderr', text)),
  ];
  try {
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    const [exitCode, signalName] = await exited;
    await killGroup(pid, { isYoung: performance.now() - startedAtMs < IDS_LAST_MS });
    await Promise.all(relays.map((each) => each.drain()));
    return { exitCode, signal: signalName };
  } finally {
    signal.removeEventListener('abort', onAbort);
    graceOver.abort();
    guard.watch(undefined);
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
    for (const { readable } of pipes ?? []) readable.destroy();
    throw error;
  } finally {
    // A pipe ends when no process holds it for writing any more, so the runner must not.
    for (const { writeFd } of pipes ?? []) closeSync(writeFd);
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
  let givenUp = false;
  const sendText = async (text: string): Promise<void> => {
    if (text === '') return;
    sending = true;
    await send(text);
    sending = false;
  };
  const ended = (async () => {
    try {
      for await (const chunk of stream) {
        pieces++;
        await sendText(decoder.write(chunk as Buffer));
      }
    } catch (error) {
      if (!givenUp) throw error;
    }
    await sendText(decoder.end());
  })();
  // It is awaited in drain(), perhaps much later.
  ended.catch(() => undefined);

  return {
    async drain() {
      const silence = new AbortController();
      const giveUpWhenSilent = async (): Promise<void> => {
        for (let seen = -1; seen !== pieces || sending; ) {
          seen = pieces;
          await delay(DRAIN_SILENCE_MS, undefined, { signal: silence.signal });
        }
        givenUp = true;
        stream.destroy();
      };
      const watching = giveUpWhenSilent().catch((error: Error) => {
        if (error.name !== 'AbortError') throw error;
      });
      try {
        await ended;
      } finally {
        silence.abort();
        await watching;
      }
    },
  };
}
