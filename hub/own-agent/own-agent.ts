/** Agent program that holds the hub's own instances: a child process that ends with the hub. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { backOff } from '@workbench-hub/shared/runtime/back-off';
import type { Logger, LogLevel } from '@workbench-hub/shared/runtime/logger';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import type { Service } from '@workbench-hub/shared/runtime/service';
import { relayLine } from './relay-line.js';

/** Time that the agent has, beyond its drainTimeout, to end its instances before it is killed. */
const STOP_GRACE_MS = 60_000;
const FIRST_RESTART_MS = 500;
const MAX_RESTART_MS = 60_000;
/** Uptime after which an end counts as the first one again. */
const STEADY_AFTER_MS = 60_000;

export interface OwnAgentOptions {
  /** Configuration of the agent, in the form of its file; includes the credential. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly drainTimeoutMs: number;
  readonly runtime: Runtime;
  readonly log: Logger;
  /** Path of the agent program. */
  readonly program?: string;
}

export interface OwnAgent extends Service {
  /** Level of the lines that the agent logs from now on. */
  setLogLevel(level: LogLevel): void;
}

/** The agent as a service; `start` rejects with {@link StartRefused} when the agent program is not installed. */
export function ownAgent({ config, drainTimeoutMs, runtime, log, program }: OwnAgentOptions): OwnAgent {
  let present = config;
  const restarts = backOff(FIRST_RESTART_MS, MAX_RESTART_MS, () => runtime.random());
  let child: ChildProcess | undefined;
  let nextStart: Timer | undefined;
  let stopping = false;

  const launch = (path: string): void => {
    const startedAtMs = runtime.clock.monotonicMs();
    const started = fork(path, ['--managed'], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [] });
    child = started;
    for (const stream of [started.stdout, started.stderr]) {
      if (stream) createInterface(stream).on('line', (line) => relayLine(line, log));
    }
    // A child that ends before it reads the message is seen by its exit.
    started.send({ config: present }, () => undefined);
    const onEnd = (reason: object) => {
      if (child !== started) return;
      child = undefined;
      if (stopping) return;
      if (runtime.clock.monotonicMs() - startedAtMs >= STEADY_AFTER_MS) restarts.reset();
      const restartMs = restarts.nextMs();
      log.error(
        { ...reason, restartMs },
        "the agent of the hub's own instances has ended; it is started again",
      );
      nextStart = runtime.timers.after(restartMs, () => launch(path));
    };
    started.once('error', (error) => onEnd({ err: error }));
    started.once('exit', (exitCode, signal) => onEnd({ exitCode, signal }));
  };

  return {
    name: 'own agent',
    async start() {
      stopping = false;
      launch(program ?? installedAgentProgram());
    },
    setLogLevel(level) {
      present = { ...present, log: { level } };
      if (child?.connected) child.send({ logLevel: level }, () => undefined);
    },
    async stop() {
      stopping = true;
      nextStart?.cancel();
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit').catch(() => undefined);
      if (child.connected) child.disconnect();
      const last = child;
      const kill = runtime.timers.after(drainTimeoutMs + STOP_GRACE_MS, () => last.kill('SIGKILL'));
      await ended;
      kill.cancel();
    },
  };
}

/** Path of the agent program. Throws {@link StartRefused} when it is not installed. */
export function installedAgentProgram(): string {
  try {
    return createRequire(import.meta.url).resolve('@workbench-hub/agent/program/main');
  } catch (error) {
    throw new StartRefused(
      'instances are configured, and the agent program that holds them is not installed: ' +
        'install workbench-agent beside the hub, or remove instances from the configuration',
      { cause: error },
    );
  }
}
