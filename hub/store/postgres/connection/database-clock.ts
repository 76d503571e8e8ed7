/** The clock of the database server, read again from time to time: hubs with different clocks agree on the times that they store. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { periodicLoop } from '@workbench-hub/shared/runtime/loop';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { Queries } from './pool.js';
import { rowOf, sql } from './statement.js';

export const NOW = sql({}, 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms');

const READ_EVERY_MS = 10_000;
/** A response that took longer says too little. */
const MAX_ROUND_TRIP_MS = 200;
/** Smaller differences are left to the next readings, so that times rarely go back. */
const TOLERANCE_MS = 20;

export interface DatabaseClock extends Clock {
  close(): void;
}

export interface DatabaseClockOptions {
  /** Clock of the machine. */
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Pick<Logger, 'info'>;
}

/** Reads the clock of the server. Rejects with `DatabaseFault`. */
export async function databaseClock(db: Queries, options: DatabaseClockOptions): Promise<DatabaseClock> {
  const { clock, timers, log } = options;
  let baseMs = (await read(db, clock)).baseMs;
  const readAgain = async () => {
    try {
      const reading = await read(db, clock);
      const stepMs = Math.round(reading.baseMs - baseMs);
      if (reading.tookMs <= MAX_ROUND_TRIP_MS && Math.abs(stepMs) > TOLERANCE_MS) {
        baseMs = reading.baseMs;
        log.info({ stepMs }, 'the clock of the database server has moved');
      }
    } catch {
      // Away: the machine's own clock goes on from the latest reading.
    }
  };
  const loop = periodicLoop(READ_EVERY_MS, { timers, pass: readAgain });
  loop.start(READ_EVERY_MS);
  return {
    nowMs: () => Math.round(baseMs + clock.monotonicMs()),
    monotonicMs: () => clock.monotonicMs(),
    close: () => void loop.stop(),
  };
}

/** Time of the server at which the monotonic clock of the machine was zero. */
async function read(
  db: Queries,
  clock: Clock,
): Promise<{ readonly baseMs: number; readonly tookMs: number }> {
  const sentMs = clock.monotonicMs();
  const row = await rowOf<{ now_ms: number }>(db, NOW, {});
  const tookMs = clock.monotonicMs() - sentMs;
  return { baseMs: (row?.now_ms ?? 0) - sentMs - tookMs / 2, tookMs };
}
