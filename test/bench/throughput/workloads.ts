/** W0 to W2 and W4: a hub with nothing but its tasks, as a client sees it. */
import { beanstalkd } from '../peers/beanstalkd.js';
import { bullmqAlways, bullmqEverysec, bullmqSandboxed } from '../peers/bullmq.js';
import { celery } from '../peers/celery.js';
import { dask } from '../peers/dask.js';
import { dbos } from '../peers/dbos.js';
import { graphile } from '../peers/graphile.js';
import { limitHttp, limitPipeline, limitSqlite } from '../peers/limit.js';
import { natsAlways, natsUnsynced } from '../peers/nats.js';
import { pgBoss } from '../peers/pg-boss.js';
import { slurm } from '../peers/slurm.js';
import { hub } from '../subjects/hub.js';
import { W0, W1, W1C, W2, W4 } from './setups.js';
import { throughputWorkload } from './throughput.js';

/** The alternatives to the hub, and the limit of the machine. */
const OTHERS = [
  limitPipeline,
  bullmqAlways,
  bullmqEverysec,
  graphile,
  pgBoss,
  dbos,
  beanstalkd,
  natsAlways,
  natsUnsynced,
];

const PEAK_LIMIT_MIB = 350;

/** Alternatives that run each task in one of several processes. */
const IN_PROCESSES = [bullmqSandboxed, celery, dask];

export const w0 = throughputWorkload({
  ...W0,
  subjects: [hub, ...OTHERS, limitSqlite, limitHttp],
  targets: [
    { figure: 'hub: creates', is: 'at least', value: 1.5, times: 'bullmq always: creates' },
    { figure: 'hub: creates', is: 'at least', value: 0.7, times: 'limit pipeline: creates' },
  ],
});

export const w1 = throughputWorkload({
  ...W1,
  subjects: [hub, ...OTHERS, ...IN_PROCESSES, slurm],
  targets: [
    { figure: 'hub: tasks', is: 'at least', value: 1, times: 'bullmq always: tasks' },
    { figure: 'hub: tasks', is: 'at least', value: 2, times: 'bullmq sandboxed: tasks' },
    { figure: 'hub: tasks', is: 'at least', value: 0.75, times: 'limit pipeline: tasks' },
    { figure: 'hub: peak memory of all processes', is: 'at most', value: PEAK_LIMIT_MIB },
  ],
});

export const w1c = throughputWorkload({
  ...W1C,
  subjects: [hub, ...OTHERS, ...IN_PROCESSES],
  targets: [
    { figure: 'hub: round trips', is: 'at least', value: 1, times: 'bullmq always: round trips' },
    { figure: 'hub: round trips', is: 'at least', value: 2, times: 'bullmq sandboxed: round trips' },
    { figure: 'hub: round trips', is: 'at least', value: 0.7, times: 'limit pipeline: round trips' },
  ],
});

export const w2 = throughputWorkload({
  ...W2,
  subjects: [hub, ...OTHERS, ...IN_PROCESSES, slurm],
  targets: [
    {
      figure: 'hub: round trip, median',
      is: 'at most',
      value: 1,
      times: 'bullmq always: round trip, median',
    },
    { figure: 'hub: round trip, 99 of 100', is: 'at most', value: 3, times: 'hub: round trip, median' },
  ],
});

export const w4 = throughputWorkload({
  ...W4,
  subjects: [hub, ...OTHERS, ...IN_PROCESSES, slurm],
  targets: [
    { figure: 'hub: tasks', is: 'at least', value: 0.6, times: 'limit pipeline: tasks' },
    { figure: 'hub: tasks', is: 'at least', value: 1.3, times: 'bullmq sandboxed: tasks' },
    { figure: 'hub: CPU for each task', is: 'at most', value: 4 },
    { figure: 'hub: tasks', is: 'at least', value: 5, times: 'slurm: tasks' },
  ],
});
