import { Writable } from 'node:stream';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { pino } from 'pino';

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface MemoryLog {
  readonly log: Logger;
  readonly lines: LogLine[];
}

/** Levels by pino's numbers. */
export const LOG_LEVEL = { WARN: 40, ERROR: 50 } as const;

/** A log that prints nothing and keeps every line for the test. */
export function memoryLog(): MemoryLog {
  const lines: LogLine[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as LogLine);
      done();
    },
  });
  return { log: pino({ level: 'debug', base: null }, stream), lines };
}
