/** A hundred sites that lend a hundred instances each, beside a hundred agents with as many: what each instance costs the hub. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { peakRssMib, rssMib } from '../machine.js';
import { quiet } from '../quiet.js';
import { startHub } from '../subjects/hub.js';
import type { Run, Sample, Workload, WorkloadOptions } from '../workload.js';
import { Agents, doorOf } from './many-agents.js';

const SITES = 100;
const INSTANCES_EACH = 100;

export const w5OfSites: Workload = {
  name: 'w5-sites',
  what: '100 simulated sites with 10,000 lent instances, beside 100 simulated agents with as many',
  targets: [
    {
      figure: 'memory of the hub for each instance of a site',
      is: 'at most',
      value: 1.1,
      times: 'memory of the hub for each instance of an agent',
    },
    { figure: 'all sites joined after', is: 'at most', value: 10 },
  ],
  prepare: async (options) => ({ measure: (folder) => measure(folder, options) }),
};

async function measure(folder: string, { scale }: WorkloadOptions): Promise<Run> {
  const count = Math.max(2, Math.ceil(SITES * scale));
  const samples: Sample[] = [];
  const processes: Run['processes'][number][] = [];
  for (const kind of ['agent', 'site'] as const) {
    const own = join(folder, kind);
    await mkdir(own);
    const running = await startHub({ folder: own, slots: 0, paused: true });
    const joining = new Agents();
    try {
      const { pid } = running.hub;
      await quiet(pid);
      const idleMib = rssMib(pid);
      const joinedMs = await joining.tell({
        kind: 'join',
        ...doorOf(running),
        agents: count,
        instancesEach: INSTANCES_EACH,
        areHubs: kind === 'site',
      });
      await quiet(pid);
      const instances = count * INSTANCES_EACH;
      samples.push(
        { name: `all ${kind}s joined after`, value: joinedMs / 1000, unit: 's' },
        {
          name: `memory of the hub for each instance of ${kind === 'site' ? 'a site' : 'an agent'}`,
          value: ((rssMib(pid) - idleMib) * 1024) / instances,
          unit: 'KiB',
        },
      );
      processes.push({ name: `hub of ${kind}s`, cpuS: 0, peakRssMib: peakRssMib(pid) });
    } finally {
      await joining.stop();
      await running.stop();
    }
  }
  return { samples, processes };
}
