/** Loads of W0 to W2 and W4. */
import type { ThroughputSetup } from './throughput.js';

type Setup = Omit<ThroughputSetup, 'subjects' | 'targets'>;

export const W0 = {
  name: 'w0',
  what: '20,000 creates over 64 connections, durable before 201, nothing is taken yet',
  load: 'create',
  count: 20_000,
  connections: 64,
  slots: 16,
  paused: true,
} as const satisfies Setup;

export const W1 = {
  name: 'w1',
  what: '20,000 tasks that do nothing, 64 connections, 16 instances on 2 agents, first create to last end',
  load: 'throughput',
  count: 20_000,
  connections: 64,
  slots: 16,
} as const satisfies Setup;

export const W1C = {
  name: 'w1c',
  what: '64 clients: each creates a task, long-polls its result, and goes on, 10,000 times in all',
  load: 'closed-loop',
  count: 10_000,
  connections: 64,
  slots: 16,
} as const satisfies Setup;

export const W2 = {
  name: 'w2',
  what: 'one client, one task after the other: create to result, 500 times',
  load: 'one-by-one',
  count: 500,
  connections: 1,
  slots: 16,
} as const satisfies Setup;

export const W4 = {
  name: 'w4',
  what: '500 batch jobs that start one process each, on 4 instances',
  load: 'processes',
  count: 500,
  connections: 64,
  slots: 4,
} as const satisfies Setup;
