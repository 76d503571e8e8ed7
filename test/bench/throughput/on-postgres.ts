/** W0 to W2 of a hub on PostgreSQL, beside the same hub on SQLite and queues on the same kind of server. */
import { dbos } from '../peers/dbos.js';
import { graphile } from '../peers/graphile.js';
import { pgBoss } from '../peers/pg-boss.js';
import { hubOnPostgres, hubOnSqlite } from '../subjects/hub.js';
import { W0, W1, W1C, W2 } from './setups.js';
import { throughputWorkload } from './throughput.js';

const SUBJECTS = [hubOnPostgres, hubOnSqlite, graphile, pgBoss, dbos];

export const w0OnPostgres = throughputWorkload({
  ...W0,
  subjects: SUBJECTS,
  targets: [
    { figure: 'hub on postgres: creates', is: 'at least', value: 1, times: 'graphile batch: creates' },
  ],
});

export const w1OnPostgres = throughputWorkload({
  ...W1,
  subjects: SUBJECTS,
  targets: [
    { figure: 'hub on postgres: tasks', is: 'at least', value: 1, times: 'graphile batch: tasks' },
    { figure: 'hub on postgres: tasks', is: 'at least', value: 0.6, times: 'hub on sqlite: tasks' },
  ],
});

export const w1cOnPostgres = throughputWorkload({ ...W1C, subjects: SUBJECTS, targets: [] });

export const w2OnPostgres = throughputWorkload({
  ...W2,
  subjects: SUBJECTS,
  targets: [
    {
      figure: 'hub on postgres: round trip, median',
      is: 'at most',
      value: 1.5,
      times: 'graphile batch: round trip, median',
    },
  ],
});
