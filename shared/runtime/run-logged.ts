import { type Logger, type LogOptions, openLog } from './logger.js';
import { EXIT, failureInWords, runProgram } from './run-program.js';
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
    const words = failureInWords(error);
    if (words === undefined) throw error;
    process.stderr.write(`${words}\n`);
    process.exitCode = EXIT.REFUSED;
  }
}
