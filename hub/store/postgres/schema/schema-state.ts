/** State of the schema of a database: its migrations, the hubs that work on it, and whether another hub fits both. */
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { CLUSTER_TIMINGS } from '../cluster/common/timings.js';
import { type Queries, statement } from '../connection/pool.js';
import { generationOf, inOrder, isAfterHubs, type Migration, newestGeneration } from './migration.js';

export interface AppliedMigration {
  readonly id: string;
  /** The phase, as the hub named it that applied the migration. */
  readonly phase: string;
  readonly generation: number;
  /** Version of the hub that applied it; null when that is not known. */
  readonly version: string | null;
}

/** A hub that has shown lately that it lives. */
export interface LiveHub {
  readonly id: string;
  readonly version: string;
  readonly generation: number;
}

const TABLES = statement(
  "SELECT to_regclass('schema_migration') IS NOT NULL AS migrations, to_regclass('hub') IS NOT NULL AS hubs",
);
// By way of JSON, since the columns are younger than the table.
const APPLIED = statement(`
  SELECT id, coalesce(to_jsonb(schema_migration) ->> 'phase', 'expand') AS phase,
    coalesce((to_jsonb(schema_migration) ->> 'generation')::int, 1) AS generation,
    to_jsonb(schema_migration) ->> 'version' AS version
  FROM schema_migration ORDER BY id`);
const LIVE_HUBS = statement(`
  SELECT id, version, coalesce((to_jsonb(hub) ->> 'generation')::int, 1) AS generation
  FROM hub WHERE id <> $1 AND seen_at > clock_timestamp() - interval '${CLUSTER_TIMINGS.lapseMs} milliseconds' ORDER BY id`);

const REMEDY = 'start the newer hub, or restore a backup from before the update';

/** Migrations of the database by their ids; empty for an empty database. Rejects with `DatabaseFault`. */
export async function appliedMigrations(queries: Pick<Queries, 'rows'>): Promise<AppliedMigration[]> {
  return (await tablesOf(queries)).migrations ? queries.rows<AppliedMigration>(APPLIED) : [];
}

/** Hubs that work on the database, but for one. Rejects with `DatabaseFault`. */
export async function liveHubs(queries: Pick<Queries, 'rows'>, exceptId = ''): Promise<LiveHub[]> {
  return (await tablesOf(queries)).hubs ? queries.rows<LiveHub>(LIVE_HUBS, [exceptId]) : [];
}

async function tablesOf(queries: Pick<Queries, 'rows'>) {
  const [tables] = await queries.rows<{ migrations: boolean; hubs: boolean }>(TABLES);
  return tables ?? { migrations: false, hubs: false };
}

/** Migrations that the database lacks, in their order. `BEFORE_START`: those without which a hub does not begin; the others follow while
 *  it works. */
export function missingMigrations(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
  which: 'ALL' | 'BEFORE_START' = 'ALL',
): Migration[] {
  const ids = new Set(applied.map(({ id }) => id));
  const missing = inOrder(migrations).filter(({ id }) => !ids.has(id));
  // An empty database has no rows and no hubs.
  if (which === 'ALL' || applied.length === 0) return missing;
  const newest = newestGeneration(migrations);
  return missing.filter((migration) => !isAfterHubs(migration) || generationOf(migration) < newest);
}

/** Throws {@link StartRefused} when newer hubs have changed the database in a way that a hub with these migrations does not fit. One that
 *  was only extended for the next generation fits. */
export function refuseNewer(
  location: string,
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): void {
  const own = newestGeneration(migrations);
  const ids = new Set(migrations.map(({ id }) => id));
  const unknown = applied.filter(({ id }) => !ids.has(id));
  const newest = Math.max(0, ...unknown.map(({ generation }) => generation));
  const refuse = (those: readonly AppliedMigration[], has: string) => {
    const version = those.find((each) => each.version !== null)?.version;
    const names = those.map(({ id }) => id).join(', ');
    throw new StartRefused(
      `a newer hub${version === undefined ? '' : ` (version ${version})`} has ${has.replace('%', `(${names})`)}: ${REMEDY}`,
    );
  };
  if (newest > own + 1) {
    refuse(
      unknown.filter(({ generation }) => generation === newest),
      `migrated the database ${location} to schema generation ${newest} %, and this hub has generation ${own}, which works on ${own + 1} at most`,
    );
  }
  const same = unknown.filter(({ generation }) => generation <= own);
  if (same.length > 0) refuse(same, `migrated the database ${location} %`);
  const removals = unknown.filter(({ phase }) => phase === 'contract');
  if (removals.length > 0)
    refuse(
      removals,
      `removed from the database ${location} what hubs of schema generation ${own}, as this one, need %`,
    );
}

/** The generation that the database has reached: for a hub with these migrations its own, unless some are missing, or newer hubs have made
 *  the database unfit for it. */
export function schemaGeneration(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): number {
  const [next] = missingMigrations(applied, migrations, 'BEFORE_START');
  if (next) return generationOf(next) - 1;
  try {
    refuseNewer('', applied, migrations);
    return newestGeneration(migrations);
  } catch {
    return Math.max(...applied.map(({ generation }) => generation));
  }
}

/** Version of the newer hub that has extended the database, which fits nevertheless; undefined without one. */
export function extendedBy(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): string | undefined {
  const own = newestGeneration(migrations);
  const newer = applied.find(({ generation }) => generation > own);
  return newer && (newer.version ?? 'unknown');
}

/** Throws {@link StartRefused} when hubs live that a hub with these migrations cannot work beside. */
export function refuseEarlierHubs(
  location: string,
  hubs: readonly LiveHub[],
  migrations: readonly Migration[],
): void {
  const own = newestGeneration(migrations);
  const earlier = hubs.filter(({ generation }) => generation < own - 1);
  if (earlier.length === 0) return;
  throw new StartRefused(
    `on the database ${location} work ${namesOf(earlier)}, and this hub has schema generation ${own}, which works beside ${own - 1} at ` +
      `least: upgrade those to a version of generation ${own - 1} first, or stop all of them`,
  );
}

/** Hubs for messages, with versions and generations. */
export function namesOf(hubs: readonly LiveHub[]): string {
  const [{ generation } = { generation: 1 }] = hubs;
  const named = hubs.map(({ id, version }) => `${id} (version ${version})`).join(', ');
  return `${hubs.length === 1 ? 'the hub' : 'the hubs'} ${named} of schema generation ${generation}`;
}
