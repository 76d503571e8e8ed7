/** Instance programs as child processes of this agent. */

import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { startedCommand } from '@workbench-hub/shared/runtime/single-file';
import { type Program, ProgramLost, type ProgramSettings, type Programs } from '../core/ports/programs.js';
import type { PreparedDirectory } from '../core/ports/workspace.js';
import { describeEnd } from '../core/program-end.js';
import type { ResourceLimits } from '../core/resource-limits.js';
import { CommonProcess, type Member } from './common-process.js';
import type { ControlGroups } from './control-groups.js';
import type { Platform, TaskProcesses } from './platform.js';
import { type GroupOfProgram, type ProcessOptions, ProgramProcess } from './program-process.js';
import type { Sandbox, SandboxOfProgram } from './sandbox.js';
import { SharedProgram } from './shared-program.js';
import { SoleProgram, soleListener } from './sole-program.js';

export interface ProgramsOptions {
  /** Id of this agent: programs of others on the same host are left alone. */
  readonly nodeId: string;
  /** Inherited environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly platform: Platform;
  /** Null where control groups are unavailable. */
  readonly controlGroups: ControlGroups | null;
  /** Returns the sandbox; null when no instance has one. */
  readonly sandbox: () => Sandbox | null;
  /** Prepares the working directory of a program in a sandbox; throws the system's error. */
  readonly prepareDirectory: () => PreparedDirectory;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** Number of passes: a process may start another while it is killed. */
const SWEEP_ROUNDS = 20;
const SWEEP_PAUSE_MS = 25;

/** Bounds of one program; null: none. */
interface Confinement {
  readonly sandbox: SandboxOfProgram | null;
  readonly limits: ResourceLimits | null;
}

/** Programs with any bounds are not served by a common process. */
const NO_CONFINEMENT: Confinement = { sandbox: null, limits: null };

export interface ChildProcessPrograms extends Programs {
  /** Kills every program without waiting, when this process exits. */
  killAll(): void;
}

export function childProcessPrograms(options: ProgramsOptions): ChildProcessPrograms {
  const { nodeId, environment, platform, controlGroups, runtime, log } = options;
  const running = new Set<ProgramProcess>();

  const sweep = sweeper(options);
  const optionsOf = (instance: string, cookie: string, { sandbox, limits }: Confinement): ProcessOptions => ({
    environment,
    cookie,
    platform,
    runtime,
    sandbox,
    group: controlGroups && groupOfProgram(controlGroups, instance, limits, log),
    sweep: harmlessSweep(sweep, instance, log),
  });
  const follow = (process: ProgramProcess, whenEnded: () => void): void => {
    running.add(process);
    void process.ended.then(() => {
      running.delete(process);
      whenEnded();
    });
  };

  const startSole: Programs['start'] = (settings, listener) => {
    const { instance, limits } = settings;
    const { id } = instance;
    let sandbox: SandboxOfProgram | null;
    try {
      sandbox = sandboxFor(options, settings);
    } catch (error) {
      return notStarted(settings, 'its working directory could not be created', error);
    }
    let processOptions: ProcessOptions;
    try {
      processOptions = optionsOf(id, `${nodeId}/${id}`, { sandbox, limits });
    } catch (error) {
      void sandbox?.directory.abandon();
      return notStarted(settings, 'its limits could not be set', error);
    }
    const process = new ProgramProcess(settings, soleListener(listener), processOptions);
    follow(process, () => void sandbox?.directory.abandon());
    return new SoleProgram(settings.instance, process);
  };

  /** Common processes by name. */
  const common = new Map<string, CommonProcess>();
  const launch = (launcher: Member, settings: ProgramSettings): CommonProcess => {
    const { id } = settings.instance;
    const name = settings.commonProcess ?? id;
    // No other program has such a cookie, since ids have no slash.
    const launched = new CommonProcess(launcher, settings, optionsOf(id, `${nodeId}/${id}/`, NO_CONFINEMENT));
    common.set(name, launched);
    follow(launched.process, () => {
      if (common.get(name) === launched) common.delete(name);
    });
    return launched;
  };
  const starter = { find: (name: string) => common.get(name), launch, startSole };

  return {
    start: (configured, listener) => {
      let settings: ProgramSettings;
      try {
        settings = { ...configured, command: startedCommand(configured.command) };
      } catch (error) {
        return notStarted(configured, 'it could not be unpacked from the single file', error);
      }
      return settings.commonProcess === null || settings.sandbox !== null
        ? startSole(settings, listener)
        : new SharedProgram(settings, listener, starter);
    },
    sweep: () => sweep(`${nodeId}/`),
    killAll: () => {
      for (const process of running) process.signal('SIGKILL');
      controlGroups?.killAll();
    },
  };
}

type Sweep = (cookie: string, task?: TaskProcesses) => Promise<number>;

/** Ends every process with a cookie; resolves with their number. */
function sweeper({ platform, runtime, log }: ProgramsOptions): Sweep {
  return async (cookie, task) => {
    const killed = new Set<number>();
    for (let round = 0; round < SWEEP_ROUNDS; round++) {
      const { pids, mayBeMore } = await platform.findByCookie(cookie, task);
      if (pids.length === 0 && !mayBeMore) return killed.size;
      for (const pid of pids) {
        killed.add(pid);
        kill(pid);
      }
      await pause(runtime.timers, SWEEP_PAUSE_MS);
    }
    if (killed.size > 0)
      log.error({ pids: [...killed] }, 'processes that an instance program started could not be ended');
    return killed.size;
  };
}

/** A sweep that logs what it ended, and its errors: they are irrelevant for the result of the task or the program. */
function harmlessSweep(sweep: Sweep, instance: string, log: Logger): ProcessOptions['sweep'] {
  return async (cookie, task) => {
    const taskId = task?.taskId;
    const origin = task ? 'a task' : 'a program';
    try {
      const orphans = await sweep(cookie, task);
      if (orphans > 0) log.info({ instance, taskId, orphans }, `ended orphans of ${origin}`);
    } catch (error) {
      log.warn({ err: error, instance, taskId }, `searching for orphans of ${origin} failed`);
    }
  };
}

function sandboxFor({ sandbox, prepareDirectory }: ProgramsOptions, { sandbox: settings }: ProgramSettings) {
  if (settings === null) return null;
  const found = sandbox();
  // The start of the agent was refused without it.
  if (found === null) throw new Error('there is no sandbox');
  return { sandbox: found, settings, directory: prepareDirectory() };
}

/** A program that lacks something that it must not run without. */
function notStarted({ command: [file = ''] }: ProgramSettings, lack: string, error: unknown): Program {
  const reason = `${lack}: ${messageOf(error)}`;
  const end = { kind: 'NOT_STARTED', program: file, reason } as const;
  const lost = () => Promise.reject(new ProgramLost(`the instance program ${describeEnd(end)}`));
  const nothing = () => undefined;
  return {
    pid: undefined,
    isJoined: false,
    directory: null,
    ended: Promise.resolve(end),
    initialize: lost,
    simulateWork: lost,
    executeBatchJob: lost,
    endOrphans: () => Promise.resolve(),
    cancel: lost,
    shutdown: nothing,
    terminate: nothing,
    kill: nothing,
  };
}

/** A group whose errors are logged only; processes that it misses are found by their cookie. Null when it could not be created. Throws
 *  instead when it was to keep limits. */
function groupOfProgram(
  groups: ControlGroups,
  instance: string,
  limits: ResourceLimits | null,
  log: Logger,
): GroupOfProgram | null {
  const fault = (error: unknown) =>
    log.error({ err: error, instance }, 'the control group of an instance program failed');
  try {
    const group = groups.create(instance, limits);
    const tried = (action: () => void) => {
      try {
        action();
      } catch (error) {
        fault(error);
      }
    };
    return {
      addProcess: (pid) => tried(() => group.addProcess(pid)),
      jobBegins: () => tried(() => group.jobBegins()),
      endJob: async () => {
        const orphans = await group.endJob().catch(fault);
        if (orphans) log.info({ instance, orphans }, 'ended orphans of a task');
      },
      endAllBut: async (isSpared) => {
        const orphans = await group.endAllBut(isSpared).catch(fault);
        if (orphans) log.info({ instance, orphans }, 'ended orphans of a task');
      },
      end: () => group.end().catch(fault),
    };
  } catch (error) {
    if (limits !== null) throw error;
    fault(error);
    return null;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended; one that may not be killed is found again and reported at the end.
  }
}
