/** Findings about a PostgreSQL database that is only read. All reject with `StartRefused` when it cannot be read. */
import { createHash } from 'node:crypto';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type {
  BlobObject,
  DatabaseReport,
  ReferencedBlob,
  StoredHubs,
} from '../../../core/ports/store-maintenance.js';
import { NOW_MS } from '../cluster/common/hub-statements.js';
import { CLUSTER_TIMINGS } from '../cluster/common/timings.js';
import { readHubs } from '../cluster/membership/hub-views.js';
import { isLocked } from '../connection/hub-lock.js';
import { locationOf } from '../connection/location.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import { newestGeneration } from '../schema/migration.js';
import { blobCatalogue } from '../schema/migrations/0005-blob-catalogue.js';
import { cluster } from '../schema/migrations/0006-cluster.js';
import { MIGRATIONS } from '../schema/schema.js';
import { appliedMigrations, schemaGeneration } from '../schema/schema-state.js';
import { type DatabaseAddress, onDatabase } from './maintenance.js';
import type { Inspection } from './store-maintenance.js';

/** Findings of each check that are reported. */
const MAX_FAULTS = 20;
/** Time for a question, which may read whole tables. */
const TIMEOUT_MS = 10 * 60_000;
/** Inline blobs that are read at once. */
const PAGE = 100;

const INVALID_INDEXES = sql(
  {},
  `SELECT indexrelid::regclass::text AS name FROM pg_index
   WHERE NOT indisvalid AND indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace)
   ORDER BY name LIMIT ${MAX_FAULTS}`,
);

/** Rows of tasks that are there in part. */
const INCOMPLETE_TASKS = sql(
  {},
  `SELECT seq FROM (
     SELECT seq FROM task UNION ALL SELECT task_seq FROM task_request UNION ALL SELECT task_seq FROM task_text) AS part (seq)
   GROUP BY seq HAVING count(*) <> 3
   UNION SELECT seq FROM task WHERE NOT EXISTS (SELECT FROM requirement WHERE requirement.id = task.requirement_id)
   ORDER BY seq LIMIT ${MAX_FAULTS}`,
);

/** Tasks that are not there, of which there are files. */
const STRAY_FILES = sql(
  {},
  `SELECT DISTINCT task_seq AS seq FROM task_file WHERE NOT EXISTS (SELECT FROM task WHERE task.seq = task_file.task_seq)
   ORDER BY seq LIMIT ${MAX_FAULTS}`,
);

/** References to blobs outside the database. */
const REFERENCED_BLOBS = sql(
  {},
  `SELECT DISTINCT digest, encrypted, size_bytes AS "sizeBytes" FROM (
     SELECT digest, encrypted, size_bytes FROM task_file
     UNION ALL SELECT digest, encrypted, size_bytes FROM stored_file
     UNION ALL SELECT digest, encrypted, size_bytes FROM study_file) AS named
   WHERE encrypted OR NOT EXISTS (SELECT FROM small_file WHERE small_file.digest = named.digest)
   ORDER BY digest, encrypted`,
);

const BLOB_OBJECTS = sql({}, 'SELECT name, object FROM blob_object ORDER BY name');

const INLINE_BLOBS = sql(
  { after: 'text' },
  `SELECT digest, content FROM small_file WHERE digest > :after ORDER BY digest LIMIT ${PAGE}`,
);

const REFERRING = sql(
  { digest: 'text', limit: 'bigint' },
  `SELECT id FROM task_request WHERE task_seq IN (SELECT task_seq FROM task_file WHERE digest = :digest)
   ORDER BY task_seq LIMIT :limit`,
);

const BY_STATUS = sql({}, 'SELECT status, count(*) AS tasks FROM task GROUP BY status ORDER BY status');

const AGENT_CLOCKS = sql(
  {},
  `SELECT id AS "agentId", clock_offset_ms AS "offsetMs" FROM agent WHERE clock_offset_ms IS NOT NULL ORDER BY id`,
);

const NOW = sql({}, `SELECT ${NOW_MS} AS now_ms`);

export function openInspection(address: DatabaseAddress): Inspection {
  const ask = <T>(question: (db: Database) => Promise<T>) => onDatabase(address, question, TIMEOUT_MS);
  return {
    exists: () => ask(async (db) => (await appliedMigrations(db)).length > 0),
    hasTasks: () => ask((db) => hasMigration(db, '0001-tasks')),
    isInUse: () => ask(isLocked),
    inspect: async ({ quick }) => [await report(address, ask, quick)],
    referencedBlobs: () => ask((db) => rowsOf<ReferencedBlob>(db, REFERENCED_BLOBS, {})),
    // Empty for a schema without a catalogue.
    blobObjects: () =>
      ask(async (db) =>
        (await hasMigration(db, blobCatalogue.id)) ? rowsOf<BlobObject>(db, BLOB_OBJECTS, {}) : [],
      ),
    damagedInlineBlobs: () => ask(damagedInlineBlobs),
    tasksReferringTo: (digest, limit) =>
      ask(async (db) => {
        const values = { digest, limit };
        return (await rowsOf<{ id: string }, keyof typeof values>(db, REFERRING, values)).map(({ id }) => id);
      }),
    tasksByStatus: () =>
      ask(async (db) => {
        const rows = await rowsOf<{ status: string; tasks: number }>(db, BY_STATUS, {});
        return Object.fromEntries(rows.map(({ status, tasks }) => [status, tasks]));
      }),
    agentClocks: () =>
      ask((db) => rowsOf<{ readonly agentId: string; readonly offsetMs: number }>(db, AGENT_CLOCKS, {})),
    hubs: () => ask(hubsOf),
  };
}

async function hubsOf(db: Database): Promise<StoredHubs> {
  const isKnown = await hasMigration(db, cluster.id);
  const hubs = isKnown ? await readHubs(db, CLUSTER_TIMINGS.lapseMs) : [];
  const now = await rowOf<{ now_ms: number }>(db, NOW, {});
  return { hubs, nowMs: now?.now_ms ?? 0 };
}

async function report(
  address: DatabaseAddress,
  ask: <T>(question: (db: Database) => Promise<T>) => Promise<T>,
  quick: boolean,
): Promise<DatabaseReport> {
  const [title, location] = ['database of tasks and users', locationOf(address.url)];
  try {
    return await ask(async (db) => {
      const schemaVersion = schemaGeneration(await appliedMigrations(db), MIGRATIONS);
      const knownVersion = newestGeneration(MIGRATIONS);
      const faults = await faultsIn(db, quick || schemaVersion < knownVersion);
      return { title, location, faults, schemaVersion, knownVersion };
    });
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return { title, location, unreadable: error.message };
  }
}

async function hasMigration(db: Database, wanted: string): Promise<boolean> {
  return (await appliedMigrations(db)).some(({ id }) => id === wanted);
}

async function faultsIn(db: Database, quick: boolean): Promise<string[]> {
  const invalid = await rowsOf<{ name: string }>(db, INVALID_INDEXES, {});
  const faults = invalid.map(({ name }) => `the index ${name} is not valid`);
  if (quick) return faults;
  const incomplete = await rowsOf<{ seq: number }>(db, INCOMPLETE_TASKS, {});
  const stray = await rowsOf<{ seq: number }>(db, STRAY_FILES, {});
  return [
    ...faults,
    ...incomplete.map(({ seq }) => `task ${seq} lacks some of its rows`),
    ...stray.map(({ seq }) => `files belong to task ${seq}, which is not there`),
  ];
}

/** Digests of the inline blobs whose bytes do not match. */
async function damagedInlineBlobs(db: Database): Promise<string[]> {
  const damaged: string[] = [];
  for (let after = ''; ; ) {
    const rows = await rowsOf<{ digest: string; content: Buffer }, 'after'>(db, INLINE_BLOBS, { after });
    for (const { digest, content } of rows) {
      if (createHash('sha256').update(content).digest('hex') !== digest) damaged.push(digest);
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return damaged;
    after = last.digest;
  }
}
