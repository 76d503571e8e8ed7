import { w5 } from './agents/agents.js';
import { w3 } from './backlog/backlog.js';
import { w6 } from './beside/beside.js';
import { consolePages } from './console/console.js';
import { events } from './events/events.js';
import { w9 } from './idle/idle.js';
import { lists } from './lists/lists.js';
import { machineLimits } from './machine-limits/machine-limits.js';
import { polls } from './polls/polls.js';
import { storage } from './storage/storage.js';
import { study, w8 } from './study/study.js';
import { w0, w1, w1c, w2, w4 } from './throughput/workloads.js';
import { uploads } from './uploads/uploads.js';
import type { Workload } from './workload.js';

/** In the order in which they run. */
export const WORKLOADS: readonly Workload[] = [
  machineLimits,
  w0,
  w1,
  w1c,
  w2,
  w3,
  w4,
  w5,
  w6,
  w8,
  study,
  w9,
  lists,
  polls,
  events,
  storage,
  uploads,
  consolePages,
];
