/** The ids of processes, as Linux shows them in /proc (proc(5)). */
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Up to so many ids are tried one by one: that costs less than a list of all processes. */
const TRIED_ONE_BY_ONE = 200;

export function allPids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}

/** The id that was given last: the last field of /proc/loadavg. */
export function newestPid(): number {
  return Number(readFileSync('/proc/loadavg', 'latin1').trimEnd().split(' ').at(-1));
}

/** What has an id that was given since `after` was: all processes, and perhaps some threads, which have ids, too. Ids are
 *  given in order, and from the beginning again after the highest. */
export function pidsSince(after: number): number[] {
  const newest = newestPid();
  const count = newest - after;
  if (count < 0) return allPids().filter((pid) => after < pid || pid <= newest);
  if (count > TRIED_ONE_BY_ONE) return allPids().filter((pid) => after < pid && pid <= newest);
  const pids = Array.from({ length: count }, (_, index) => after + 1 + index);
  // Most are of nothing any more, and an error costs more than this question.
  return pids.filter((pid) => existsSync(`/proc/${pid}`));
}
