// A recorded run loads this before each program: it appends to the file that REACHED_IN names which test reached which region.
import { ChildProcess } from 'node:child_process';
import { appendFileSync } from 'node:fs';

const { REACHED_IN, REACHED_BY, NODE_OPTIONS } = process.env;
const seen = new Set();

/** Test that runs in this process, or whose program this is. */
const testNow = () => globalThis.__vitest_worker__?.filepath ?? REACHED_BY;

if (REACHED_IN !== undefined) {
  globalThis.__reached = (region) => {
    const test = testNow();
    const line = `${test}\t${region}\n`;
    if (test === undefined || seen.has(line)) return;
    seen.add(line);
    appendFileSync(REACHED_IN, line);
  };

  // Programs that a test starts reach for it, whatever environment it gives them.
  const { spawn } = ChildProcess.prototype;
  ChildProcess.prototype.spawn = function (options) {
    const ours = { REACHED_IN, REACHED_BY: testNow(), NODE_OPTIONS };
    const pairs = Object.entries(ours).flatMap(([name, value]) => (value ? [`${name}=${value}`] : []));
    const others = options.envPairs?.filter((pair) => !(pair.split('=')[0] in ours)) ?? [];
    return Reflect.apply(spawn, this, [{ ...options, envPairs: [...others, ...pairs] }]);
  };
}
