/** Several hubs on one database server, beside one. */
import { join } from 'node:path';
import { inFolder } from '../in-folder.js';
import { missingPostgres } from '../subjects/postgres.js';
import type { ReadyWorkload, Run, Workload, WorkloadOptions } from '../workload.js';
import { agents } from './agents.js';
import { latency } from './latency.js';
import { throughput } from './throughput.js';

const PARTS = [throughput, latency, agents];

export const cluster: Workload = {
  name: 'cluster',
  what: 'two and three hubs on one PostgreSQL beside one: throughput, latency across them, 1,000 agents, a kill',
  targets: [
    { figure: '2 hubs: tasks, of one hub', is: 'at least', value: 0.85 },
    { figure: '3 hubs: tasks, of one hub', is: 'at least', value: 0.8 },
    { figure: 'across three hubs: beyond one hub, median', is: 'at most', value: 5 },
    { figure: 'agents: all listed by all hubs after', is: 'at most', value: 5 },
    { figure: 'agents: furthest from the mean of hubs', is: 'at most', value: 0.2 },
    { figure: 'killed hub: all joined again after', is: 'at most', value: 10 },
    // One a second, and one row more at the edges of a minute.
    { figure: 'idle: rows of hub for each hub', is: 'at most', value: 61 / 60 },
  ],
  prepare: async (options) => prepare(options),
};

function prepare({ only, ...options }: WorkloadOptions): ReadyWorkload {
  const missing = missingPostgres();
  const parts = PARTS.filter(({ name }) => missing === undefined && (only?.includes(name) ?? true));
  return {
    measure: async (run) => {
      const measured: Run[] = [];
      for (const { name, measure } of parts) {
        options.say(`cluster: measuring ${name}`);
        measured.push(await inFolder(join(run, name), (folder) => measure(folder, options)));
      }
      return {
        samples: measured.flatMap(({ samples }) => samples),
        processes: measured.flatMap(({ processes }) => processes),
      };
    },
    skipped: () => (missing === undefined ? [] : [missing]),
  };
}
