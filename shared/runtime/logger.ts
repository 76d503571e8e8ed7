import { mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { type DestinationStream, type Logger, pino, type StreamEntry } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { type LogSink, logSink } from './log-sink.js';
import { PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE } from './private-files.js';
import { StartRefused } from './run-program.js';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogOptions {
  readonly name: string;
  readonly level: LogLevel;
  /** Path of the log file, or null. Its folder is created. */
  readonly file: string | null;
}

export interface OpenLog {
  readonly log: Logger;
  /** Resolves when all lines so far are written. */
  flush(): Promise<void>;
}

/** Logs to the file and to standard output: for people on a terminal, as JSON lines otherwise. Throws {@link StartRefused} when
 *  the file cannot be opened. */
export function openLog({ name, level, file }: LogOptions): OpenLog {
  const lostNote = (lines: number) =>
    `${JSON.stringify({ level: 40, time: new Date().toISOString(), name, msg: `${lines} log lines were lost: they could not be written` })}\n`;
  const sinks = [logSink(STDOUT, lostNote)];
  const toStdout = sinks[0] as LogSink;
  const streams: StreamEntry[] = [
    { level: 'trace', stream: process.stdout.isTTY ? forPeople(toStdout) : toStdout },
  ];
  if (file !== null) {
    const toFile = logSink(openLogFile(file), lostNote);
    sinks.push(toFile);
    streams.push({ level: 'trace', stream: toFile });
  }
  const log = pino(
    { name, level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    pino.multistream(streams),
  );
  return { log, flush: async () => void (await Promise.all(sinks.map((sink) => sink.flushed()))) };
}

const STDOUT = 1;

function openLogFile(file: string): number {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_FOLDER_MODE });
    return openSync(file, 'a', PRIVATE_FILE_MODE);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new StartRefused(
      `the log file ${file} cannot be written (${code}): correct dataDir, log.file, or their rights`,
      { cause: error },
    );
  }
}

function forPeople(sink: LogSink): DestinationStream {
  const pretty = prettyFactory({
    ignore: 'pid,hostname,name',
    translateTime: 'SYS:HH:MM:ss.l',
    colorize: true,
  });
  return { write: (line) => sink.write(pretty(line) ?? '') };
}
