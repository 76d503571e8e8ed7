import { type Logger, type LogOptions, openLog } from './logger.js';
import { EXIT, runProgram, StartRefused } from './run-program.js';
import type { Service } from './service.js';

/** Opens the log and runs a service with it; see {@link runProgram}. Without a log the start is refused. */
export async function runLogged(
  options: LogOptions,
  create: (log: Logger) => Service,
  stopSignal?: AbortSignal,
): Promise<void> {
  try {
    const opened = openLog(options);
    await runProgram(create(opened.log), opened, stopSignal);
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = EXIT.REFUSED;
  }
}
