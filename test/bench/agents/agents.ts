/** A thousand agents on one hub: their cost, and how they rejoin. */
import { runLoad } from '../load/load.js';
import { cpuSeconds, peakRssMib, rssMib } from '../machine.js';
import { quiet } from '../quiet.js';
import { startHub } from '../subjects/hub.js';
import type { Run, Workload, WorkloadOptions } from '../workload.js';
import { Agents, doorOf } from './many-agents.js';

const AGENTS = 1000;
const INSTANCES_EACH = 8;
/** For half a minute; all connections are cut after a third of it. */
const TASKS = 30_000;
const CUT_AFTER_MS = 10_000;
const CONNECTIONS = 64;
const LOAD_LIMIT_MS = 180_000;

export const w5: Workload = {
  name: 'w5',
  what: '1,000 simulated agents with 8,000 instances, 1,000 tasks a second, all connections cut once',
  targets: [
    { figure: 'tasks', is: 'at least', value: 950 },
    { figure: 'cores of the hub', is: 'at most', value: 1 },
    { figure: 'peak memory of the hub', is: 'at most', value: 400 },
    { figure: 'all joined again after', is: 'at most', value: 10 },
  ],
  prepare: async (options) => ({ measure: (folder) => measure(folder, options) }),
};

async function measure(folder: string, { scale, seed, profiles }: WorkloadOptions): Promise<Run> {
  const count = Math.max(2, Math.ceil(AGENTS * scale));
  const profile = profiles === undefined ? {} : { profiles };
  const running = await startHub({ folder, slots: 0, paused: true, ...profile });
  const agents = new Agents();
  try {
    const { pid } = running.hub;
    await quiet(pid);
    const idleMib = rssMib(pid);
    const joinedMs = await agents.tell({
      kind: 'join',
      ...doorOf(running),
      agents: count,
      instancesEach: INSTANCES_EACH,
    });
    await quiet(pid);
    const joinedMib = rssMib(pid);

    const at = { beganMs: 0, endedMs: 0, cpuS: 0 };
    let rejoined: Promise<number> = Promise.resolve(Number.NaN);
    const load = await runLoad(
      {
        load: 'paced',
        port: running.port,
        dialect: 'HUB',
        connections: CONNECTIONS,
        seed,
        limitMs: LOAD_LIMIT_MS,
        count: Math.ceil(TASKS * scale),
      },
      {
        begin: () => {
          at.beganMs = performance.now();
          at.cpuS = -cpuSeconds(pid);
          rejoined = afterMs(CUT_AFTER_MS * scale).then(() => agents.tell({ kind: 'cut' }));
        },
        end: () => {
          at.endedMs = performance.now();
          at.cpuS += cpuSeconds(pid);
        },
      },
    );
    const rejoinedMs = await rejoined;
    return {
      samples: [
        { name: 'all joined after', value: joinedMs / 1000, unit: 's' },
        {
          name: 'memory of the hub for each agent',
          value: ((joinedMib - idleMib) * 1024) / count,
          unit: 'KiB',
        },
        ...load,
        { name: 'cores of the hub', value: at.cpuS / ((at.endedMs - at.beganMs) / 1000), unit: '' },
        { name: 'peak memory of the hub', value: peakRssMib(pid), unit: 'MiB' },
        { name: 'all joined again after', value: rejoinedMs / 1000, unit: 's' },
      ],
      processes: [
        { name: 'hub', cpuS: at.cpuS, peakRssMib: peakRssMib(pid) },
        { name: 'simulated agents', cpuS: cpuSeconds(agents.pid), peakRssMib: peakRssMib(agents.pid) },
      ],
    };
  } finally {
    await agents.stop();
    await running.stop();
  }
}

function afterMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
