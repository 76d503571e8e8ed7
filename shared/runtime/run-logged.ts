import { type Logger, type LogOptions, type OpenLog, openLog } from './logger.js';
import { EXIT, failureInWords, type ProgramOptions, runProgram } from './run-program.js';
import type { Service } from './service.js';

/** A service with what SIGHUP does to it. */
export interface ReloadableService {
  readonly service: Service;
  readonly reload?: () => Promise<void>;
}

/** Opens the log and runs a service with it; see {@link runProgram}. Without a log the start is refused. */
export async function runLogged(
  options: LogOptions,
  create: (log: Logger, opened: OpenLog) => ReloadableService,
  stop: Pick<ProgramOptions, 'stopSignal' | 'ignoresSignals'> = {},
): Promise<void> {
  // Without a listener the signal ends the process.
  process.on('SIGHUP', () => undefined);
  try {
    const opened = await openLog(options);
    const { service, reload } = create(opened.log, opened);
    await runProgram(service, opened, { ...stop, ...(reload && { reload }) });
  } catch (error) {
    const words = failureInWords(error);
    if (words === undefined) throw error;
    process.stderr.write(`${words}\n`);
    process.exitCode = EXIT.REFUSED;
  }
}
