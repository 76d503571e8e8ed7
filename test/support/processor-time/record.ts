/** Set-up file of every test file: passes the processor time of its tests, and of the processes that they started and waited for, to
 *  the reporter. */
import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    processorMs?: number;
  }
}

/** Clock ticks of /proc: the same on every Linux that Node runs on. */
const TICK_MS = 10;

const beforeMs = processorMs();

// biome-ignore lint/correctness/noEmptyPattern: vitest insists on a pattern here
afterAll(({}, file) => {
  file.meta.processorMs = processorMs() - beforeMs;
});

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + (process.platform === 'linux' ? endedChildrenMs() : 0);
}

function endedChildrenMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // The name of the process, in parentheses, may have blanks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}
