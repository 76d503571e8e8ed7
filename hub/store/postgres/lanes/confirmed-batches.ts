/**
 * Detection of a database that lacks confirmed batches, because an older backup or a standby without them has taken its place: for
 * PostgreSQL, such a database is intact. The numbers of the last confirmed batches are kept in a file in the data folder of the hub,
 * and compared with those of the lanes at each start.
 */
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Finding, fault, ok, warning } from '@workbench-hub/shared/checks/finding';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { DatabaseFault } from '../connection/database-fault.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import { LANE_NAMES, type LaneName } from './lane-names.js';

export interface ConfirmedBatches {
  /** Called when a durable batch took place, before its calls are told. */
  confirm(lane: LaneName, batch: number): void;
  close(): void;
}

/** A hub, by its data folder. */
export interface HubOfFolder {
  readonly dataDir: string;
  /** Id of the hub, which names its lanes; null when the folder has none yet. */
  readonly hub: string | null;
}

export interface ConfirmedBatchesOptions extends HubOfFolder {
  /** Whether other hubs use the database now. */
  readonly isShared: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Confirmed work that a database lacks. */
export interface MissingWork {
  /** Numbers of batches by lane, of the lanes that lack some. */
  readonly batches: ReadonlyMap<LaneName, number>;
  /** Time of the last confirmed batch; null when it is not known. */
  readonly confirmedAtMs: number | null;
  /** Time at which the latest task in the database was requested; null without tasks. */
  readonly latestTaskAtMs: number | null;
}

/** Numbers of the last confirmed batches, and the time of the last confirmation. */
type Confirmed = ReadonlyMap<LaneName | 'time', number>;

/** Fixed length, so that writing never needs more space. */
const DIGITS = 16;

const LANES_OF = sql({ hub: 'text' }, 'SELECT name, batch FROM lane WHERE hub = :hub');
const LATEST_TASK = sql({}, 'SELECT requested_at FROM task_request ORDER BY task_seq DESC LIMIT 1');
const BEGIN_HISTORY = sql(
  {},
  `UPDATE change_history SET name = substr(replace(gen_random_uuid()::text, '-', ''), 1, 12) WHERE id = 0`,
);

const CONTENTS: Readonly<Record<LaneName, string>> = {
  insert: 'new tasks',
  claim: 'claims',
  change: 'ends and other changes of tasks, and of stored files',
  blobs: 'small files',
  side: 'other data',
};

const REMEDY =
  'put the right database in its place; to continue without the lost work, run "workbench-hub store accept-loss"';

/** The file with the numbers of the last confirmed batches. */
function confirmedFileIn(dataDir: string): string {
  return join(dataDir, 'database-confirmed');
}

/** Compares a migrated database with the file, and begins a new history of changes when there is none and this hub is alone. Rejects with `StartRefused`
 *  when confirmed work is missing, and with `DatabaseFault`. The caller has the lock of the database. */
export async function openConfirmedBatches(
  db: Database,
  { dataDir, hub, isShared, clock, log }: ConfirmedBatchesOptions,
): Promise<ConfirmedBatches> {
  const file = confirmedFileIn(dataDir);
  const written = confirmedIn(file);
  const before = written && (await stillToBeThere(db, hub, written));
  if (before !== undefined) refuseLoss(await missingFrom(db, hub, before), db);
  else if (!isShared) await rowsOf(db, BEGIN_HISTORY, {});
  const confirmed = new Map<LaneName | 'time', number>(before);
  const handle = openSync(file, constants.O_CREAT | constants.O_WRONLY, 0o600);
  // The lanes begin anew, and so do their numbers, before the first is confirmed.
  if (before !== written) writeSync(handle, textOf(confirmed), 0);
  let isWritten = true;
  return {
    confirm: (lane, batch) => {
      confirmed.set(lane, batch);
      confirmed.set('time', clock.nowMs());
      try {
        writeSync(handle, textOf(confirmed), 0);
        isWritten = true;
      } catch (error) {
        // The batch is durable nevertheless; only a later loss would go unnoticed. The next call retries.
        if (isWritten) log.warn({ err: error, file }, 'the numbers of confirmed batches cannot be written');
        isWritten = false;
      }
    },
    close: () => closeSync(handle),
  };
}

/** Finding whether confirmed work is missing. Rejects with `DatabaseFault`. */
export async function checkConfirmed(db: Database, { dataDir, hub }: HubOfFolder): Promise<Finding> {
  const check = 'confirmed work';
  const file = confirmedFileIn(dataDir);
  let before: Confirmed | undefined;
  try {
    before = confirmedIn(file);
  } catch (error) {
    const { message } = error as Error;
    return warning(check, `${file} cannot be read (${message})`, 'run this command as the user of the hub');
  }
  const missing = before && (await missingFrom(db, hub, before));
  if (!missing) return ok(check, 'the database has all of it');
  return fault(check, `the database lacks ${missingText(missing)}`, REMEDY);
}

/** Accepts that confirmed work is missing, and begins a new history of changes: whichever hub starts first, clients that follow tasks
 *  begin anew. Resolves with the missing work, undefined
 *  when there is none and nothing was changed. The caller has the lock of the database. */
export async function acceptLoss(
  db: Database,
  { dataDir, hub }: HubOfFolder,
): Promise<MissingWork | undefined> {
  const file = confirmedFileIn(dataDir);
  const before = confirmedIn(file);
  const missing = before && (await missingFrom(db, hub, before));
  if (!missing) return undefined;
  await beginHistory(db);
  await rm(file);
  return missing;
}

/** A database without tables gets a history with them. */
async function beginHistory(db: Database): Promise<void> {
  await rowsOf(db, BEGIN_HISTORY, {}).catch((error: unknown) => {
    if (!(error instanceof DatabaseFault) || error.code !== UNDEFINED_TABLE) throw error;
  });
}

/** Missing batches, in words. */
export function missingText({ batches, confirmedAtMs, latestTaskAtMs }: MissingWork): string {
  const counts = [...batches].map(([lane, missing]) => `${missing} of ${CONTENTS[lane]}`);
  const until = confirmedAtMs === null ? '' : `, the latest at ${timeOf(confirmedAtMs)}`;
  const has =
    latestTaskAtMs === null ? 'it has no task' : `its latest task was requested at ${timeOf(latestTaskAtMs)}`;
  return `batches that were confirmed (${counts.join(', ')}${until}; ${has})`;
}

/** Throws {@link StartRefused}. */
function refuseLoss(missing: MissingWork | undefined, { location }: Database): void {
  if (!missing) return;
  throw new StartRefused(
    `the database ${location} lacks ${missingText(missing)}: an older backup was restored, a standby without them has taken over, ` +
      `or store names another database; ${REMEDY}`,
  );
}

async function missingFrom(
  db: Database,
  hub: string | null,
  confirmed: Confirmed,
): Promise<MissingWork | undefined> {
  const rows = await lanesOf(db, hub ?? '');
  const expected = rows.size === 0 ? await stillToBeThere(db, hub, confirmed) : confirmed;
  const lacking = LANE_NAMES.map(
    (lane) => [lane, (expected.get(lane) ?? 0) - (rows.get(lane) ?? 0)] as const,
  );
  const batches = new Map(lacking.filter(([, missing]) => missing > 0));
  if (batches.size === 0) return undefined;
  const latest = rows.size === 0 ? undefined : await rowOf<{ requested_at: number }>(db, LATEST_TASK, {});
  return {
    batches,
    confirmedAtMs: confirmed.get('time') ?? null,
    latestTaskAtMs: latest?.requested_at ?? null,
  };
}

/** Empty for a database without tables. */
async function lanesOf(db: Database, hub: string): Promise<ReadonlyMap<string, number>> {
  try {
    const rows = await rowsOf<{ name: string; batch: number }, 'hub'>(db, LANES_OF, { hub });
    return new Map(rows.map(({ name, batch }) => [name, batch]));
  } catch (error) {
    if (error instanceof DatabaseFault && error.code === UNDEFINED_TABLE) return new Map();
    throw error;
  }
}

const UNDEFINED_TABLE = '42P01';

const LANES_WERE_REMOVED = sql(
  { hub: 'text' },
  'SELECT hub FROM lane_hub WHERE hub = :hub AND NOT EXISTS (SELECT FROM lane WHERE lane.hub = lane_hub.hub)',
);

/** The numbers of a file; none for a hub that was away for so long that its lanes were removed. */
async function stillToBeThere(db: Database, hub: string | null, confirmed: Confirmed): Promise<Confirmed> {
  if (hub === null) return confirmed;
  try {
    const isRemoved = (await rowOf<{ hub: string }, 'hub'>(db, LANES_WERE_REMOVED, { hub })) !== undefined;
    return isRemoved ? new Map() : confirmed;
  } catch (error) {
    // A database without tables, or of an earlier version.
    if (error instanceof DatabaseFault && error.code === UNDEFINED_TABLE) return confirmed;
    throw error;
  }
}

/** Undefined when the file does not exist; empty when a loss of power has left it so. */
function confirmedIn(file: string): Confirmed | undefined {
  try {
    const lines = readFileSync(file, 'utf8').matchAll(/^(\w+) (\d+)$/gm);
    return new Map([...lines].map(([, name, number]) => [name as LaneName | 'time', Number(number)]));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function textOf(confirmed: Confirmed): string {
  return [...LANE_NAMES, 'time' as const]
    .map((name) => `${name} ${String(Math.round(confirmed.get(name) ?? 0)).padStart(DIGITS, '0')}\n`)
    .join('');
}

function timeOf(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
