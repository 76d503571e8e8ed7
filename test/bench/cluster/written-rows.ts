/** Rows that a server writes, by its own statistics. */
import type { TestDatabase } from '../../support/stores/postgres.js';

export interface WrittenRows {
  readonly table: string;
  readonly perS: number;
}

interface Counter {
  readonly table: string;
  readonly rows: number;
}

/** Tables that are written by an idle cluster; the others count together. */
const TABLES = ['hub', 'scheduler_term', 'agent'] as const;

/** Rows that were inserted, changed or removed while something went on, by table. */
export async function writtenRows(
  database: Pick<TestDatabase, 'query'>,
  meanwhile: () => Promise<unknown>,
): Promise<readonly WrittenRows[]> {
  const before = await counters(database);
  const began = performance.now();
  await meanwhile();
  const seconds = (performance.now() - began) / 1000;
  const after = await counters(database);
  const written = new Map<string, number>([...TABLES, 'all others'].map((table) => [table, 0]));
  for (const { table, rows } of after) {
    const earlier = before.find((each) => each.table === table)?.rows ?? 0;
    const name = (TABLES as readonly string[]).includes(table) ? table : 'all others';
    written.set(name, (written.get(name) ?? 0) + rows - earlier);
  }
  return [...written].map(([table, rows]) => ({ table, perS: rows / seconds }));
}

function counters(database: Pick<TestDatabase, 'query'>): Promise<Counter[]> {
  return database.query<Counter>(
    `SELECT relname AS table, (n_tup_ins + n_tup_upd + n_tup_del)::float8 AS rows FROM pg_stat_user_tables ORDER BY relname`,
  );
}
