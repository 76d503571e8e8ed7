import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type DestinationStream, type Logger, pino, type StreamEntry } from 'pino';
import { build as pretty } from 'pino-pretty';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogOptions {
  readonly name: string;
  readonly level: LogLevel;
  /** Path of a file that gets every line too, or null. Its folder is made. */
  readonly file: string | null;
}

export interface OpenLog {
  readonly log: Logger;
  /** Resolves when everything logged so far is on its way to the file. */
  flush(): Promise<void>;
}

/** Logs to standard output, for people when it is a terminal and as JSON lines otherwise, and to the file. */
export function openLog({ name, level, file }: LogOptions): OpenLog {
  const destinations = [pino.destination({ fd: 1, sync: false })];
  const streams: StreamEntry[] = [
    {
      level: 'trace',
      stream: process.stdout.isTTY ? prettyStream() : (destinations[0] as DestinationStream),
    },
  ];
  if (file !== null) {
    mkdirSync(dirname(file), { recursive: true });
    const toFile = pino.destination({ dest: file, sync: false, append: true });
    destinations.push(toFile);
    streams.push({ level: 'trace', stream: toFile });
  }
  const log = pino(
    { name, level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    pino.multistream(streams),
  );
  return {
    log,
    flush: async () => {
      await Promise.all(destinations.map((to) => new Promise<void>((resolve) => to.flush(() => resolve()))));
    },
  };
}

function prettyStream(): DestinationStream {
  return pretty({ ignore: 'pid,hostname,name', translateTime: 'SYS:HH:MM:ss.l', sync: true });
}
