/** Process ids of Linux, from /proc (proc(5)). */
import { existsSync, openSync, readdirSync, readSync } from 'node:fs';

/** Number of ids up to which each is tried, which costs less than a list of all processes. */
const TRIED_ONE_BY_ONE = 200;

export function allPids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

/** Held open and read from its beginning: opening it each time costs five times as much. */
let loadAverage: number | undefined;
const line = Buffer.alloc(128);

/** The id assigned last: the last field of /proc/loadavg. */
export function newestPid(): number {
  loadAverage ??= openSync('/proc/loadavg', 'r');
  const length = readSync(loadAverage, line, 0, line.length, 0);
  return Number(line.toString('latin1', line.lastIndexOf(' ', length) + 1, length));
}

/** Processes, and perhaps threads, with an id assigned since `after`. Ids are assigned in order, and wrap around after the
 *  highest. */
export function pidsSince(after: number): Iterable<number> {
  const newest = newestPid();
  if (newest < after) return allPids().filter((pid) => after < pid || pid <= newest);
  return pidsBetween(after, newest);
}

/** The same up to a later id, without a wrap-around. With few ids, each is checked only when it is consumed: whatever a
 *  vanished process started has appeared by then. */
export function* pidsBetween(after: number, newest: number): Generator<number> {
  if (newest - after > TRIED_ONE_BY_ONE) {
    yield* allPids().filter((pid) => after < pid && pid <= newest);
    return;
  }
  for (let pid = after + 1; pid <= newest; pid++) {
    // Most do not exist, and an error costs more than this check.
    if (existsSync(`/proc/${pid}`)) yield pid;
  }
}
