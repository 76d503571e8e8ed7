/** Defects of a store on a database server. */
import { DatabaseFault } from '@workbench-hub/hub/store/postgres/connection/database-fault';
import type { Database } from '@workbench-hub/hub/store/postgres/connection/pool';
import { CONFIRM_BATCH, LANE_ROW } from '@workbench-hub/hub/store/postgres/lanes/lane-statements';
import { type ModelStore, openModelStore } from '@workbench-hub/hub/store/sqlite/fixtures/model-store';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import { pino } from 'pino';
import { type Box, isBatch, type ModelWork, READ } from '../database/model-statements.js';
import type { DatabaseServer } from '../database/server.js';
import { LEASE_MS } from '../settings.js';
import type { Breakage } from './breakage.js';
import { acknowledgedEarly } from './wrappers.js';

/** Age at which a standby gets the state of its primary server again. */
const LAG_MS = 3000;
const LOOK_EVERY_MS = 500;

const DEFECTS: readonly Omit<Breakage, 'store'>[] = [
  {
    name: 'a batch is repeated without its number',
    seed: 66,
    serverDefects: { ignoresBatch: true },
  },
  {
    name: 'a former start of the hub may still write',
    seed: 34,
    serverDefects: { ignoresIncarnation: true },
  },
  {
    name: 'no batch waits for the disk of the server',
    seed: 19,
    serverDefects: { relaxesAll: true },
  },
  {
    name: 'a lost response is taken for a refusal',
    seed: 17,
    database: (db) => givenUp(db),
  },
  {
    name: 'a batch whose response was lost is taken for one that changed nothing',
    seed: 65,
    database: (db) => ({
      ...db,
      rows: async <Row extends object>(...[statement, values]: Parameters<Database['rows']>) => {
        const rows = await db.rows<Row>(statement, values);
        return statement.name === LANE_ROW.name ? rows.map(withoutEffect) : rows;
      },
    }),
  },
  {
    name: 'a batch that a restarted server shows is told before its standby has it',
    seed: 196,
    serverDefects: { showsRecovered: true },
    database: (db) => ({
      ...db,
      rows: async <Row extends object>(...[statement, values]: Parameters<Database['rows']>) =>
        statement.name === CONFIRM_BATCH.name ? ([{}] as Row[]) : db.rows<Row>(statement, values),
    }),
  },
  {
    name: 'reads are answered by a standby that lags',
    seed: 1,
    database: (db, { server, runtime }) => readFromStandby(db, server, runtime),
  },
  {
    name: 'a claim is told before it is committed',
    seed: 31,
    hub: ({ queue, archive }) => ({
      queue: {
        ...queue,
        claim: async (claims) => {
          const found = await Promise.all(
            claims.map(async ({ taskId, instance, startedAtMs }) => {
              const [task, job] = [await archive.find(taskId), await archive.jobOf(taskId)];
              if (!task || !job) return [];
              const attempt = task.attempt + 1;
              const running = { ...task, status: 'RUNNING', attempt, instance, startedAtMs } as const;
              const ref = { taskId, attempt, instanceId: instance.id };
              return [{ ref, agentId: instance.agentId, task: running, job }];
            }),
          );
          queue.claim(claims).catch(() => undefined);
          return found.flat();
        },
      },
    }),
  },
  {
    name: '201 before the batch is committed',
    seed: 1,
    hub: acknowledgedEarly,
  },
  {
    name: 'a lease is counted by the wall clock',
    seed: 107,
    hub: ({ runtime }) => ({ runtime: withLeasesByWallClock(runtime) }),
  },
];

export const SERVER_BREAKAGES: readonly Breakage[] = DEFECTS.map((defect) => ({
  ...defect,
  store: 'SERVER',
}));

/** A database that refuses a batch in words when its outcome is not known. */
export function givenUp(db: Database): Database {
  return {
    ...db,
    rows: async <Row extends object>(...[statement, values]: Parameters<Database['rows']>) => {
      try {
        return await db.rows<Row>(statement, values);
      } catch (error) {
        if (!(error instanceof DatabaseFault) || !error.isOutcomeUnknown || !isBatch(statement.name))
          throw error;
        throw refusalOf(error);
      }
    },
  };
}

function refusalOf(fault: DatabaseFault): DatabaseFault {
  return new DatabaseFault('REFUSED', fault, { location: fault.location, isOutcomeUnknown: false });
}

/** The outcome of a batch as if none of its calls had changed anything. */
function withoutEffect<Row extends object>(row: Row): Row {
  const { outcome } = row as { outcome?: unknown };
  if (typeof outcome !== 'function') return row;
  const nothing = (result: unknown): unknown => {
    if (!Array.isArray(result)) return result;
    return result.every((each) => typeof each === 'boolean') ? result.map(() => false) : [];
  };
  return { ...row, outcome: () => (outcome as Box<unknown[]>)().map(nothing) };
}

function readFromStandby(db: Database, server: DatabaseServer, { clock }: Runtime): Database {
  let standby: ModelStore | undefined;
  let atMs = 0;
  const model = () => {
    if (!standby || clock.monotonicMs() - atMs >= LAG_MS) {
      const timers = { after: () => ({ cancel: () => undefined }), soon: () => undefined };
      standby = openModelStore(server.image().tables, { timers, log: pino({ enabled: false }) });
      atMs = clock.monotonicMs();
    }
    return standby;
  };
  return {
    ...db,
    rows: (statement, values) => {
      if (statement.name !== READ.name) return db.rows(statement, values);
      const read = values?.[0] as ModelWork<unknown>;
      return db.rows(statement, [() => read(model(), server.around)]);
    },
  };
}

function withLeasesByWallClock(runtime: Runtime): Runtime {
  const { clock, timers } = runtime;
  const after = (delayMs: number, action: () => void): Timer => {
    if (delayMs !== LEASE_MS) return timers.after(delayMs, action);
    const endMs = clock.nowMs() + delayMs;
    let timer: Timer;
    const look = () => {
      if (clock.nowMs() >= endMs) action();
      else timer = timers.after(LOOK_EVERY_MS, look);
    };
    timer = timers.after(LOOK_EVERY_MS, look);
    return { cancel: () => timer.cancel() };
  };
  return { ...runtime, timers: { ...timers, after } };
}
