import type { Logger } from 'pino';
import type { Service } from './service.js';
import { RELOADS_ON_HANG_UP, STOP_SIGNALS } from './stop-signals.js';

/** Exit codes of a program (contract 13.3). */
export const EXIT = { OK: 0, CRASHED: 1, REFUSED: 2 } as const;

/** A start that is refused for a reason that the operator can correct; only its message is printed. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
}

/** The end of a program that cannot go on, and can once a supervisor has started it again; only its message is printed. */
export class RestartNeeded extends Error {
  override readonly name = 'RestartNeeded';
}

export interface RunningLog {
  readonly log: Logger;
  flush(): Promise<void>;
}

export interface ProgramOptions {
  /** Stops the service as SIGTERM does. */
  readonly stopSignal?: AbortSignal;
  /** Whether the signals that stop a program are ignored: the process that gives `stopSignal` gets them, too. */
  readonly ignoresSignals?: boolean;
  /** Called on SIGHUP, except on Windows, once the service has started, never while an earlier call is under way. */
  readonly reload?: () => Promise<void>;
}

const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs a service until SIGTERM, SIGINT (on Windows also Ctrl+Break or the end of the console) or `stopSignal`, then stops it and exits with 0; a second signal exits at once.
 * A failed start exits with 2. An uncaught error is logged and exits with 1, so that a supervisor restarts the program; so does
 * `RestartNeeded`. SIGHUP calls `reload` and never ends the program, whatever becomes of the call.
 */
export async function runProgram(
  service: Service,
  { log, flush }: RunningLog,
  {
    stopSignal,
    ignoresSignals = false,
    reload = async () => log.info('SIGHUP: there is nothing to reload'),
  }: ProgramOptions = {},
): Promise<void> {
  const exit = async (code: number) => {
    await Promise.race([flush().catch(() => undefined), new Promise((resolve) => setTimeout(resolve, 1000))]);
    process.exit(code);
  };
  const crash = (error: unknown) => {
    if (error instanceof RestartNeeded) log.fatal(error.message);
    else
      log.fatal({ err: error }, 'stopped by an error that nothing caught; this is a defect of the program');
    void exit(EXIT.CRASHED);
  };
  // The timers of the runtime keep no process alive, and a service may have nothing else for a while: an agent whose hub is
  // away and whose instances all wait for their next start.
  setInterval(() => undefined, MAX_TIMER_MS);
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);

  let stopping = false;
  let started: Promise<void> | undefined;
  const stop = async (reason: object) => {
    stopping = true;
    log.info(reason, 'stopping');
    await started?.catch(() => undefined);
    try {
      await service.stop();
      log.info('stopped');
      return await exit(EXIT.OK);
    } catch (error) {
      log.error({ err: error }, 'stopping failed');
      return exit(EXIT.CRASHED);
    }
  };
  const onSignal = (signal: NodeJS.Signals) => {
    if (ignoresSignals) return undefined;
    if (!stopping) return stop({ signal });
    log.warn({ signal }, 'second signal: stopping at once');
    return exit(EXIT.CRASHED);
  };
  for (const name of STOP_SIGNALS) process.on(name, (signal) => void onSignal(signal));
  if (RELOADS_ON_HANG_UP)
    onHangUp(async () => {
      await started;
      if (!stopping) await reload();
    }, log);
  const onAbort = () => void (stopping || stop({ reason: stopSignal?.reason }));
  stopSignal?.addEventListener('abort', onAbort, { once: true });

  try {
    started = service.start();
    if (stopSignal?.aborted) onAbort();
    await started;
  } catch (error) {
    const refusal = failureInWords(error);
    if (refusal) log.fatal(refusal);
    else log.fatal({ err: error }, 'the start failed');
    await exit(EXIT.REFUSED);
  }
}

/** Calls `reload` on each SIGHUP; signals during a call become one further call. */
function onHangUp(reload: () => Promise<void>, log: Logger): void {
  let isAsked = false;
  let isReloading = false;
  const reloadWhileAsked = async () => {
    if (isReloading) return;
    isReloading = true;
    while (isAsked) {
      isAsked = false;
      await reload().catch((error: unknown) => log.error({ err: error }, 'the reload failed'));
    }
    isReloading = false;
  };
  process.on('SIGHUP', () => {
    isAsked = true;
    void reloadWhileAsked();
  });
}

/** Sentence for a failed start or command; undefined for a defect of the program, whose stack is shown. */
export function failureInWords(error: unknown): string | undefined {
  if (error instanceof StartRefused) return error.message;
  const { code, path, syscall, message } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string') return undefined;
  if (code.startsWith('SQLITE_'))
    return `a database of dataDir cannot be used: ${message} (${code}); correct dataDir, or its rights, or restore a backup`;
  // The error of a write names no path.
  const full = FULL_DISK[code];
  if (full !== undefined) return `${path ?? 'dataDir'}: ${full} (${code}); make room there`;
  if (path !== undefined && Object.hasOwn(FILE_FAULTS, code))
    return `${path}: ${FILE_FAULTS[code]} (${code}); correct dataDir, or its rights`;
  return syscall === undefined ? undefined : `the start failed: ${message}`;
}

const FULL_DISK: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
};

const FILE_FAULTS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'there is a folder where a file should be',
  EEXIST: 'there is a file where a folder should be',
  ENOENT: 'it does not exist',
  ELOOP: 'its links lead in a circle',
  ENAMETOOLONG: 'the path is too long',
  EIO: 'the disk reports an error',
};
