import type { Database } from '../connection/pool.js';
import { rowsOf, sql } from '../connection/statement.js';

const SIZE = sql({}, 'SELECT pg_database_size(current_database()) AS bytes');

/** Bytes that the database takes on its server, without the log that all databases of the server share. */
export async function sizesOf(db: Database): Promise<Readonly<Record<string, number>>> {
  const [row] = await rowsOf<{ bytes: number }>(db, SIZE, {});
  return { all: row?.bytes ?? 0 };
}
