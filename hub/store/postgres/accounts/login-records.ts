/** Recent logins, which all hubs of the database count together. */
import { createHash } from 'node:crypto';
import {
  delayAfter,
  FAILURES_COUNT_FOR_MS,
  LOCATION_REMEMBERED_MS,
  type LoginRecords,
  MAX_FAILED_LOGINS,
  MAX_LOCATIONS_OF_USER,
} from '../../../core/ports/login-records.js';
import { RELAXED } from '../cluster/common/hub-statements.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import { type AccountRuntime, AccountWork } from './account-work.js';

/** Attempts that count. One with a later time does, too, for times of hubs differ a little; one much later is of a clock that was set back. */
const RECENT = `abs(began_at - :nowMs) < ${FAILURES_COUNT_FOR_MS}`;
const RECENT_OF = (row: string) =>
  `SELECT array_agg(began_at ORDER BY began_at) FROM unnest(${row}.began) AS began_at WHERE ${RECENT}`;

const ATTEMPTS = sql(
  { key: 'text', nowMs: 'bigint' },
  `SELECT (${RECENT_OF('login_attempt')})::float8[] AS began FROM login_attempt WHERE key_hash = :key`,
);
const BEGIN = sql(
  { key: 'text', nowMs: 'bigint' },
  `WITH ${RELAXED}
   INSERT INTO login_attempt AS known (key_hash, began) SELECT :key, ARRAY[:nowMs] FROM relaxed
   ON CONFLICT (key_hash) DO UPDATE SET began = coalesce((${RECENT_OF('known')}), '{}') || :nowMs
   WHERE coalesce(cardinality((${RECENT_OF('known')})), 0) < ${MAX_FAILED_LOGINS}
   RETURNING key_hash`,
);
const IS_KNOWN = sql(
  { username: 'text', location: 'text', nowMs: 'bigint' },
  `SELECT 1 AS found FROM login_location WHERE username_hash = :username AND location_hash = :location
   AND logged_in_at > :nowMs - ${LOCATION_REMEMBERED_MS}`,
);
const SUCCEEDED = sql(
  { username: 'text', location: 'text', keys: 'text[]', nowMs: 'bigint' },
  `WITH ${RELAXED},
   forgotten AS (DELETE FROM login_attempt USING relaxed WHERE key_hash = ANY(:keys)),
   surplus AS (
     DELETE FROM login_location WHERE username_hash = :username AND location_hash IN (
       SELECT location_hash FROM login_location WHERE username_hash = :username AND location_hash <> :location
       ORDER BY logged_in_at DESC OFFSET ${MAX_LOCATIONS_OF_USER - 1}))
   INSERT INTO login_location (username_hash, location_hash, logged_in_at) VALUES (:username, :location, :nowMs)
   ON CONFLICT (username_hash, location_hash) DO UPDATE SET logged_in_at = excluded.logged_in_at`,
);
const SWEEP = sql(
  { nowMs: 'bigint' },
  `WITH attempts AS (DELETE FROM login_attempt WHERE NOT EXISTS (SELECT FROM unnest(began) AS began_at WHERE ${RECENT}))
   DELETE FROM login_location WHERE logged_in_at <= :nowMs - ${LOCATION_REMEMBERED_MS}`,
);

/** `clock` is that of the store. */
export function postgresLoginRecords(database: Database, runtime: AccountRuntime): LoginRecords {
  const { clock } = runtime;
  const work = new AccountWork(runtime);
  const delayMs = async (key: string) => {
    const nowMs = clock.nowMs();
    const row = await rowOf<{ began: number[] | null }, 'key' | 'nowMs'>(database, ATTEMPTS, {
      key: digestOf(key),
      nowMs,
    });
    return delayAfter(row?.began ?? [], nowMs);
  };
  return {
    isKnown: (username, location) =>
      work.read(async () => {
        const values = {
          username: digestOf(username),
          location: digestOf(location),
          nowMs: clock.nowMs(),
        };
        return (await rowsOf(database, IS_KNOWN, values)).length > 0;
      }),
    delayMs: (key) => work.read(() => delayMs(key)),
    // A repetition may count twice: who guesses gains nothing by it.
    begin: (key) =>
      work.write(async () => {
        const values = { key: digestOf(key), nowMs: clock.nowMs() };
        return (await rowsOf(database, BEGIN, values)).length > 0 ? 0 : Math.max(1, await delayMs(key));
      }),
    succeeded: (username, location, keys) =>
      work.write(async () => {
        await rowsOf(database, SUCCEEDED, {
          username: digestOf(username),
          location: digestOf(location),
          keys: keys.map(digestOf),
          nowMs: clock.nowMs(),
        });
      }),
    sweep: () =>
      work.write(async () => {
        await rowsOf(database, SWEEP, { nowMs: clock.nowMs() });
      }),
  };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
