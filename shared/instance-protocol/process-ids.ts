/** The ids of processes, as Linux shows them in /proc (proc(5)). */
import { existsSync, openSync, readdirSync, readSync } from 'node:fs';

/** Up to so many ids are tried one by one: that costs less than a list of all processes. */
const TRIED_ONE_BY_ONE = 200;

export function allPids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

/** Read again and again from its beginning: to open it each time costs five times as much. */
let loadAverage: number | undefined;
const line = Buffer.alloc(128);

/** The id that was given last: the last field of /proc/loadavg. */
export function newestPid(): number {
  loadAverage ??= openSync('/proc/loadavg', 'r');
  const length = readSync(loadAverage, line, 0, line.length, 0);
  return Number(line.toString('latin1', line.lastIndexOf(' ', length) + 1, length));
}

/** What has an id that was given since `after` was: all processes, and perhaps some threads, which have ids, too. Ids are
 *  given in order, and from the beginning again after the highest. */
export function pidsSince(after: number): Iterable<number> {
  const newest = newestPid();
  if (newest < after) return allPids().filter((pid) => after < pid || pid <= newest);
  return pidsBetween(after, newest);
}

/** The same up to an id that was given later, without a new beginning in between. Where they are few, each is looked for
 *  not before it is asked for: by then whoever was found gone has long brought into being what it started. */
export function* pidsBetween(after: number, newest: number): Generator<number> {
  if (newest - after > TRIED_ONE_BY_ONE) {
    yield* allPids().filter((pid) => after < pid && pid <= newest);
    return;
  }
  for (let pid = after + 1; pid <= newest; pid++) {
    // Most are of nothing any more, and an error costs more than this question.
    if (existsSync(`/proc/${pid}`)) yield pid;
  }
}
