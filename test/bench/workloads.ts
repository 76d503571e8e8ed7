import { w5 } from './agents/agents.js';
import { w5OfSites } from './agents/sites.js';
import { w3, w3OnPostgres } from './backlog/backlog.js';
import { w6 } from './beside/beside.js';
import { cluster } from './cluster/cluster.js';
import { consolePages } from './console/console.js';
import { events } from './events/events.js';
import { hosts } from './hosts/hosts.js';
import { w9 } from './idle/idle.js';
import { lists, listsOnPostgres } from './lists/lists.js';
import { machineLimits } from './machine-limits/machine-limits.js';
import { polls } from './polls/polls.js';
import { storage } from './storage/storage.js';
import { w10 } from './study/small-points.js';
import { study, w8 } from './study/study.js';
import { w0OnPostgres, w1cOnPostgres, w1OnPostgres, w2OnPostgres } from './throughput/on-postgres.js';
import { w1OverSite, w2OverSite } from './throughput/over-site.js';
import { w0, w1, w1c, w2, w4 } from './throughput/workloads.js';
import { uploads } from './uploads/uploads.js';
import type { Workload } from './workload.js';

export const STORES = ['sqlite', 'postgres'] as const;

/** By the store of the hub, in the order in which they run. */
export const WORKLOADS: Readonly<Record<(typeof STORES)[number], readonly Workload[]>> = {
  sqlite: [
    machineLimits,
    w0,
    w1,
    w1c,
    w2,
    w1OverSite,
    w2OverSite,
    w3,
    w4,
    w5,
    w5OfSites,
    w6,
    w8,
    study,
    w10,
    w9,
    lists,
    polls,
    events,
    storage,
    uploads,
    hosts,
    consolePages,
  ],
  postgres: [w0OnPostgres, w1OnPostgres, w1cOnPostgres, w2OnPostgres, w3OnPostgres, listsOnPostgres, cluster],
};
