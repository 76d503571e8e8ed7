/** Several hubs on one database server, beside one. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { missingPostgres } from '../subjects/postgres.js';
import type { ProcessUse, ReadyWorkload, Sample, Workload, WorkloadOptions } from '../workload.js';
import { agents } from './agents.js';
import { latency } from './latency.js';
import { throughput } from './throughput.js';

const PARTS = [throughput, latency, agents];

export const cluster: Workload = {
  name: 'cluster',
  what: 'two and three hubs on one PostgreSQL beside one: throughput, latency across them, 1,000 agents, a kill',
  targets: [
    { figure: '2 hubs: tasks, of one hub', is: 'at least', value: 0.85 },
    { figure: '3 hubs: tasks, of one hub', is: 'at least', value: 0.75 },
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
  const used = new Map<string, ProcessUse>();
  return {
    measure: async () => {
      const samples: Sample[] = [];
      for (const { name, measure } of parts) {
        const folder = join(options.folder, name);
        mkdirSync(folder);
        try {
          const measured = await measure(folder, options);
          for (const use of measured.use) used.set(use.name, use);
          samples.push(...measured.samples);
          for (const sample of measured.samples)
            options.say(`cluster: ${sample.name}: ${sample.value.toFixed(2)} ${sample.unit}`);
        } finally {
          rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
        }
      }
      return samples;
    },
    use: () => [...used.values()],
    skipped: () => (missing === undefined ? [] : [missing]),
    end: async () => undefined,
  };
}
