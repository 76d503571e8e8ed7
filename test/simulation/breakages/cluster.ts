/** Defects of several hubs on one database. */
import type { Roles } from '@workbench-hub/hub/core/ports/roles';
import type { Signals } from '@workbench-hub/hub/core/ports/signals';
import { DatabaseFault } from '@workbench-hub/hub/store/postgres/connection/database-fault';
import type { Database } from '@workbench-hub/hub/store/postgres/connection/pool';
import { openModelStore } from '@workbench-hub/hub/store/sqlite/fixtures/model-store';
import { pause } from '@workbench-hub/shared/runtime/pause';
import { pino } from 'pino';
import { isBatch, type ModelWork } from '../database/model-statements.js';
import type { DatabaseServer } from '../database/server.js';
import { LEASE_MS } from '../settings.js';
import type { Breakage, HubPorts } from './breakage.js';
import { givenUp } from './server.js';

const DEFECTS: readonly Omit<Breakage, 'store'>[] = [
  {
    name: 'two hubs have the role of the scheduler',
    seed: 1,
    serverDefects: { ignoresHolder: true },
  },
  {
    name: 'claims of a former term take place',
    seed: 26,
    serverDefects: { ignoresTerms: true },
    hub: lateClaims,
  },
  {
    name: 'a lease of a former term takes an attempt from its agent',
    seed: 383,
    serverDefects: { ignoresFences: true },
  },
  {
    name: 'a lease is counted through an outage',
    seed: 3,
    hub: leasesThatGoOn,
  },
  {
    name: 'a commit whose outcome is not known is taken for a failure',
    seed: 9,
    database: (db) => givenUp(db),
  },
  {
    name: 'a commit whose outcome is not known is taken for a success',
    seed: 2,
    database: (db, { server }) => takenForDone(db, server),
  },
  {
    name: 'an assignment that was lost on its way is not repeated',
    seed: 49,
    hubs: 5,
    hub: ({ archive }) => ({ archive: { ...archive, jobOf: async () => undefined } }),
  },
  {
    name: 'an end is told before it is committed',
    seed: 25,
    hub: ({ queue }) => ({
      queue: {
        ...queue,
        end: async (ended, freed) => {
          freed?.();
          queue.end(ended).catch(() => undefined);
          return ended.map(() => true);
        },
      },
    }),
  },
  {
    name: 'a hub that is cut off from the database keeps its agents',
    seed: 12,
    hub: ({ cluster }) => ({ cluster: { ...cluster, signals: withoutCutOff(cluster.signals) } }),
  },
  {
    name: 'a blob is removed that another hub holds',
    seed: 22,
    contents: (options) => ({
      ...options,
      others: options.others ? { ...options.others, heldOf: () => Promise.resolve(new Set()) } : null,
    }),
  },
  {
    name: 'blobs stay for an hour while there are other hubs',
    seed: 3,
    contents: (options) => ({
      ...options,
      others: options.others ? { ...options.others, heldOf: () => Promise.resolve(null) } : null,
    }),
  },
  {
    name: 'a hub stores times of its own clock',
    seed: 1,
    storesOwnTimes: true,
  },
];

export const CLUSTER_BREAKAGES: readonly Breakage[] = DEFECTS.map((defect) => ({
  hubs: 3,
  ...defect,
  store: 'SERVER',
}));

/** Longest time that a claim is on its way to the database in a world that is to find claims of former terms. */
const ON_ITS_WAY_MS = 5000;

/** Claims that take long on their way, so that the terms of some end meanwhile. */
function lateClaims({ queue, runtime }: HubPorts): Partial<HubPorts> {
  const { timers, random } = runtime;
  return {
    queue: {
      ...queue,
      claim: async (claims, term) => {
        await pause(timers, random() * ON_ITS_WAY_MS);
        return queue.claim(claims, term);
      },
    },
  };
}

function withoutCutOff(signals: Signals): Signals {
  return { ...signals, hear: ({ CUT_OFF: _, ...listener }) => signals.hear(listener) };
}

/** Time after the beginning of a term within which its leases begin. */
const BEGINNING_MS = 15_000;

/** Leases of a new term that end at once, as if they had gone on through an outage that was longer than they are. */
function leasesThatGoOn({ cluster, runtime }: HubPorts): Partial<HubPorts> {
  const { roles } = cluster;
  const { clock, timers } = runtime;
  let gainedAtMs = Number.NEGATIVE_INFINITY;
  const contend: Roles['contend'] = (holder) =>
    roles.contend({
      gained: (term) => {
        gainedAtMs = clock.monotonicMs();
        return holder.gained(term);
      },
      lost: () => holder.lost(),
    });
  return {
    cluster: { ...cluster, roles: { ...roles, contend } },
    runtime: {
      ...runtime,
      timers: {
        ...timers,
        after: (delayMs, action) => {
          const isBeginning = clock.monotonicMs() - gainedAtMs < BEGINNING_MS;
          return timers.after(delayMs === LEASE_MS && isBeginning ? 1 : delayMs, action);
        },
      },
    },
  };
}

/** A database that makes up the outcome of a batch when it is not known. */
function takenForDone(db: Database, server: DatabaseServer): Database {
  return {
    ...db,
    rows: async <Row extends object>(...[statement, values = []]: Parameters<Database['rows']>) => {
      try {
        return await db.rows<Row>(statement, values);
      } catch (error) {
        const work = values.at(-1);
        const isUnknown = error instanceof DatabaseFault && error.isOutcomeUnknown;
        if (!isUnknown || !isBatch(statement.name) || typeof work !== 'function') throw error;
        const timers = { after: () => ({ cancel: () => undefined }), soon: () => undefined };
        const model = openModelStore(server.image().tables, { timers, log: pino({ enabled: false }) });
        const results = await model.transaction(() => (work as ModelWork<unknown>)(model, server.around));
        return [{ outcome: () => results }] as unknown as Row[];
      }
    },
  };
}
