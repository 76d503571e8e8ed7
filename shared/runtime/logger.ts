import { type DestinationStream, type Logger, pino, type StreamEntry } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { LogFile, type LogRotation } from './log-file.js';
import { descriptorTarget, type LogSink, logSink } from './log-sink.js';
import { StartRefused } from './run-program.js';
import { systemRuntime } from './system-runtime.js';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogSettings {
  readonly level: LogLevel;
  /** Path of the log file, or null. Its folder is created. */
  readonly file: string | null;
  /** Null: another program rotates the file, if any does. */
  readonly rotation: LogRotation | null;
}

export interface LogOptions extends LogSettings {
  readonly name: string;
}

export interface OpenLog {
  readonly log: Logger;
  /** Resolves when all lines so far are written. */
  flush(): Promise<void>;
  /** Path of the file in use; null without one. */
  readonly file: string | null;
  /** Takes these settings and reopens the file; a log keeps having a file or none. Rejects with {@link StartRefused} when the
   *  file cannot be opened; the former file stays in use then. */
  reload(settings: LogSettings): Promise<void>;
}

/** Logs to the file and to standard output: for people on a terminal, as JSON lines otherwise. Rejects with
 *  {@link StartRefused} when the file cannot be opened. */
export async function openLog({ name, level, file, rotation }: LogOptions): Promise<OpenLog> {
  const lostNote = (lines: number) =>
    `${JSON.stringify({ level: 40, time: new Date().toISOString(), name, msg: `${lines} log lines were lost: they could not be written` })}\n`;
  const sinks = [logSink(descriptorTarget(STDOUT), lostNote)];
  const toStdout = sinks[0] as LogSink;
  const streams: StreamEntry[] = [
    { level: 'trace', stream: process.stdout.isTTY ? forPeople(toStdout) : toStdout },
  ];
  const onRotationFailed = (error: unknown) =>
    log.warn({ err: error }, 'the log file cannot be rotated and grows; it is tried again every minute');
  const logFile =
    file === null
      ? null
      : await LogFile.open({ path: file, rotation }, { clock: systemRuntime.clock, onRotationFailed }).catch(
          refuse(file),
        );
  if (logFile !== null) {
    const toFile = logSink(logFile, lostNote);
    sinks.push(toFile);
    streams.push({ level: 'trace', stream: toFile });
  }
  const children: Logger[] = [];
  const log = pino(
    {
      name,
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      // A child has a level of its own.
      onChild: (child) => void children.push(child),
    },
    pino.multistream(streams),
  );
  return {
    log,
    flush: async () => void (await Promise.all(sinks.map((sink) => sink.flushed()))),
    get file() {
      return logFile?.path ?? null;
    },
    reload: async (settings) => {
      for (const logger of [log, ...children]) logger.level = settings.level;
      if (logFile === null || settings.file === null) return;
      const { file: path, rotation: ofFile } = settings;
      await logFile.reopen({ path, rotation: ofFile }).catch(refuse(path));
    },
  };
}

const STDOUT = 1;

function refuse(file: string): (error: unknown) => never {
  return (error) => {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new StartRefused(
      `the log file ${file} cannot be written (${code}): correct dataDir, log.file, or their rights`,
      { cause: error },
    );
  };
}

function forPeople(sink: LogSink): DestinationStream {
  const pretty = prettyFactory({
    ignore: 'pid,hostname,name',
    translateTime: 'SYS:HH:MM:ss.l',
    colorize: true,
  });
  return { write: (line) => sink.write(pretty(line) ?? '') };
}
