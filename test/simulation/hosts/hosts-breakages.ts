/** Defects of hosts that come and go, which their world must find. */
import type { HostsBreakage } from './hosts-world.js';

export const HOSTS_BREAKAGES: readonly HostsBreakage[] = [
  {
    name: 'a hub forgets its allocations when it is restarted',
    fromSeed: 2,
    hub: ({ allocations }) => ({ allocations: { ...allocations, open: async () => [] } }),
  },
  {
    name: 'a workload manager that does not answer counts as one without jobs',
    fromSeed: 85,
    manager: (manager) => ({ ...manager, jobs: (names) => manager.jobs(names).catch(() => []) }),
  },
  {
    name: 'a job whose submit is not answered is handed in again at once',
    fromSeed: 6,
    manager: (manager) => ({
      ...manager,
      submit: (launch) => manager.submit(launch).catch(() => manager.submit(launch)),
    }),
  },
  {
    name: 'a cancel that is not answered counts as done',
    fromSeed: 82,
    manager: (manager, world) => ({
      ...manager,
      cancel: (name) => (world.happens(0.5) ? Promise.resolve() : manager.cancel(name)),
    }),
  },
  {
    name: 'a job that was canceled is taken to be over for ever',
    fromSeed: 13,
    manager: (manager) => {
      const over = new Set<string>();
      return {
        ...manager,
        jobs: async (names) => {
          const jobs = await manager.jobs(names);
          for (const { name, state } of jobs) if (state === 'ENDED') over.add(name);
          return jobs.filter(({ name, state }) => state === 'ENDED' || !over.has(name));
        },
      };
    },
  },
  {
    name: 'the end of a host is taken to be later than it is',
    fromSeed: 9,
    manager: (manager) => ({
      ...manager,
      jobs: async (names) =>
        (await manager.jobs(names)).map((job) => ({
          ...job,
          remainingMs: job.remainingMs === null ? null : job.remainingMs + 300_000,
        })),
    }),
  },
  {
    name: 'a job that waits counts as ended',
    fromSeed: 18,
    manager: (manager, world) => ({
      ...manager,
      jobs: async (names) =>
        (await manager.jobs(names)).map((job) =>
          job.state === 'QUEUED' && world.happens(0.1) ? { ...job, state: 'ENDED' } : job,
        ),
    }),
  },
  {
    name: 'a drained agent takes tasks',
    hub: ({ agentDrains }) => ({ agentDrains: { ...agentDrains, drain: async () => true } }),
  },
];
