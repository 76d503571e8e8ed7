import { lists } from './lists/lists.js';
import { polls } from './polls/polls.js';
import { storage } from './storage/storage.js';
import type { Workload } from './workload.js';

/** In the order in which they run. */
export const WORKLOADS: readonly Workload[] = [lists, polls, storage];
