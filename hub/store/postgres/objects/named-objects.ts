import type {
  NamedObject,
  NamedObjects,
  NamingOutcome,
  NamingTerms,
  StorageArea,
} from '../../../core/ports/named-objects.js';
import { SWEEP_BATCH } from '../../rows/limits.js';
import { namedObjectOfRow, type StoredObjectRow } from '../../rows/stored-object-row.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';
import { NAMING_OUTCOME, NAMING_PARAMETERS, namingValues, PUT_OBJECT, REFUSAL } from './naming.js';
import { useOf } from './storage-use.js';
import { nameDigest } from './stored-objects.js';

const ROW = 'name, digest, size_bytes, encrypted, owner, stored_at, expires_at';

const PUT: LaneWrite<{ readonly stored: NamedObject; readonly terms: NamingTerms }, NamingOutcome> = {
  statement: laneStatement({
    parameters: NAMING_PARAMETERS,
    parts: `${REFUSAL}, ${PUT_OBJECT}`,
    outcome: NAMING_OUTCOME,
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([call]) => (call ? namingValues(call.stored, call.terms) : {}),
  results: (_, outcome) => [outcome as NamingOutcome],
};

interface Renewal {
  readonly area: StorageArea;
  readonly name: string;
  readonly nowMs: number;
  readonly expiresAtMs: number;
  readonly ofOwner: string | undefined;
}

const RENEW: LaneWrite<Renewal, boolean> = {
  statement: laneStatement({
    parameters: { area: 'text', nameDigest: 'text', now: 'bigint', expiresAt: 'bigint', ofOwner: 'text' },
    parts: `
      renewed AS (
        UPDATE stored_file SET expires_at = :expiresAt FROM held
        WHERE area = :area AND name_digest = :nameDigest AND expires_at > :now
          AND (:ofOwner IS NULL OR owner = :ofOwner) RETURNING name)`,
    outcome: 'SELECT to_json(count(*)) FROM renewed',
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([call]) => ({
    area: call?.area,
    nameDigest: nameDigest(call?.name ?? ''),
    now: call?.nowMs,
    expiresAt: call?.expiresAtMs,
    ofOwner: call?.ofOwner ?? null,
  }),
  results: (_, outcome) => [outcome !== 0],
};

interface Removal {
  readonly area: StorageArea;
  readonly name: string;
  readonly ofOwner: string | undefined;
}

const REMOVE: LaneWrite<Removal, null> = {
  statement: laneStatement({
    parameters: { area: 'text', nameDigest: 'text', ofOwner: 'text' },
    parts: `
      removed AS (
        DELETE FROM stored_file USING held
        WHERE area = :area AND name_digest = :nameDigest AND (:ofOwner IS NULL OR owner = :ofOwner))`,
    outcome: "'null'",
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([call]) => ({
    area: call?.area,
    nameDigest: nameDigest(call?.name ?? ''),
    ofOwner: call?.ofOwner ?? null,
  }),
  results: () => [null],
};

const REMOVE_EXPIRED: LaneWrite<number, number> = {
  statement: laneStatement({
    parameters: { now: 'bigint', limit: 'bigint' },
    parts: `
      old AS (SELECT area, name_digest FROM held, stored_file WHERE expires_at <= :now LIMIT :limit),
      removed AS (
        DELETE FROM stored_file USING old WHERE stored_file.area = old.area AND stored_file.name_digest = old.name_digest
        RETURNING name)`,
    outcome: 'SELECT to_json(count(*)) FROM removed',
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([now]) => ({ now, limit: SWEEP_BATCH }),
  results: (_, outcome) => [outcome as number],
};

const FIND = sql(
  { area: 'text', nameDigest: 'text', now: 'bigint' },
  `SELECT ${ROW} FROM stored_file WHERE area = :area AND name_digest = :nameDigest AND expires_at > :now`,
);

/** The index has the beginnings of the names. */
const LIST = sql(
  { area: 'text', prefix: 'text', owner: 'text', after: 'text', now: 'bigint', limit: 'bigint' },
  `SELECT ${ROW} FROM stored_file
   WHERE area = :area AND left(name, 200) >= left(greatest(:after COLLATE "C", :prefix COLLATE "C"), 200)
     AND name > :after AND starts_with(name, :prefix)
     AND expires_at > :now AND (:owner IS NULL OR owner = :owner)
   ORDER BY left(name, 200), name LIMIT :limit`,
);

export function postgresNamedObjects(db: Database, { change }: Lanes): NamedObjects {
  return {
    find: async (area, name, nowMs) => {
      const values = { area, nameDigest: nameDigest(name), now: nowMs };
      const row = await rowOf<StoredObjectRow, keyof typeof values>(db, FIND, values);
      return row && namedObjectOfRow(area, row);
    },
    list: async (area, { prefix = '', owner = null, after = '', limit }, nowMs) => {
      const values = { area, prefix, owner, after, now: nowMs, limit };
      const rows = await rowsOf<StoredObjectRow, keyof typeof values>(db, LIST, values);
      return rows.map((row) => namedObjectOfRow(area, row));
    },
    put: (stored, terms) => change.write(PUT, { stored, terms }),
    renew: (area, name, nowMs, expiresAtMs, ofOwner) =>
      change.write(RENEW, { area, name, nowMs, expiresAtMs, ofOwner }),
    remove: async (area, name, ofOwner) => void (await change.write(REMOVE, { area, name, ofOwner })),
    useOf: (area, owner, except) => useOf(db, area, owner, except),
    removeExpired: async (nowMs) => {
      let removed = 0;
      for (;;) {
        const count = await change.write(REMOVE_EXPIRED, nowMs);
        removed += count;
        if (count < SWEEP_BATCH) return removed;
      }
    },
  };
}
