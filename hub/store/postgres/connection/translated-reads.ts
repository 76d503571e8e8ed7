import { readError } from './database-fault.js';
import type { Database } from './pool.js';

/** The database for reads by clients of a port: they reject with HubError `STORE_UNAVAILABLE` where it rejects with
 *  `DatabaseFault`. Lanes take the database itself, since they repeat what failed. */
export function translatedReads(db: Database): Database {
  return {
    ...db,
    rows: (statement, values) => db.rows<never>(statement, values).catch(translate),
    transaction: (work, settings) => db.transaction(work, settings).catch(translate),
  };
}

function translate(error: unknown): never {
  throw readError(error) ?? error;
}
