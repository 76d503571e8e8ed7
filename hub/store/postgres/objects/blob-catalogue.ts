import type { BlobCatalogue, CatalogueEntry, UnusedFile } from '../../../core/ports/blob-catalogue.js';
import type { Database } from '../connection/pool.js';
import { rowOf, rowsOf, sql } from '../connection/statement.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';
import { anotherTime } from './blob-references.js';

const ADD: LaneWrite<{ readonly entry: CatalogueEntry; readonly instead: string | null }, string> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { name: 'text', object: 'text', sizeBytes: 'bigint', usedAt: 'bigint', instead: 'text' },
    parts: `
      added AS (
        INSERT INTO blob_object (name, object, size_bytes, used_at)
        SELECT :name, :object, :sizeBytes, :usedAt FROM held
        ON CONFLICT (name) DO UPDATE SET used_at = ${anotherTime('blob_object.used_at', 'excluded.used_at')},
          object = CASE WHEN blob_object.object = :instead THEN excluded.object ELSE blob_object.object END,
          size_bytes = CASE WHEN blob_object.object = :instead THEN excluded.size_bytes ELSE blob_object.size_bytes END
        RETURNING object)`,
    outcome: 'SELECT to_json(object) FROM added',
  }),
  isDurable: false,
  keys: () => ['all'],
  values: ([call]) => ({
    name: call?.entry.name,
    object: call?.entry.object,
    sizeBytes: call?.entry.sizeBytes,
    usedAt: call?.entry.usedAtMs,
    instead: call?.instead,
  }),
  results: (_, outcome) => [outcome as string],
};

type Use = Pick<CatalogueEntry, 'name' | 'object' | 'usedAtMs'>;

const USE: LaneWrite<Use, boolean> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { name: 'text', object: 'text', usedAt: 'bigint' },
    parts: `
      used AS (
        UPDATE blob_object SET used_at = ${anotherTime('blob_object.used_at', ':usedAt')} FROM held
        WHERE blob_object.name = :name AND blob_object.object = :object RETURNING object)`,
    outcome: 'SELECT to_json(count(*)) FROM used',
  }),
  isDurable: false,
  keys: () => ['all'],
  values: ([use]) => ({ name: use?.name, object: use?.object, usedAt: use?.usedAtMs }),
  results: (_, outcome) => [outcome !== 0],
};

const REMOVE: LaneWrite<readonly (string | UnusedFile)[], readonly string[]> = {
  statement: laneStatement({
    parameters: { names: 'text[]', usedAts: 'bigint[]' },
    parts: `
      removed AS (
        DELETE FROM blob_object USING held, unnest(:names, :usedAts) AS given (name, used_at)
        WHERE blob_object.name = given.name AND (given.used_at IS NULL OR blob_object.used_at = given.used_at)
        RETURNING object)`,
    outcome: `SELECT coalesce(json_agg(object), '[]') FROM removed`,
  }),
  isDurable: true,
  keys: () => ['all'],
  values: ([files = []]) => ({
    names: files.map((file) => (typeof file === 'string' ? file : file.name)),
    usedAts: files.map((file) => (typeof file === 'string' ? null : file.usedAtMs)),
  }),
  results: (_, outcome) => [outcome as string[]],
};

const CATALOGUE = sql({}, 'SELECT name FROM blob_catalogue WHERE id = 0');
const FIND = sql(
  { name: 'text' },
  `SELECT name, object, size_bytes AS "sizeBytes", used_at AS "usedAtMs" FROM blob_object WHERE name = :name`,
);
const OLD = sql(
  { after: 'text', before: 'bigint', now: 'bigint', limit: 'bigint' },
  `SELECT name FROM blob_object WHERE name > :after AND (used_at < :before OR used_at > :now) ORDER BY name LIMIT :limit`,
);
const KNOWN = sql({ objects: 'text[]' }, 'SELECT object FROM blob_object WHERE object = ANY (:objects)');

export function postgresBlobCatalogue(db: Database, { blobs }: Lanes): BlobCatalogue {
  return {
    name: async () => (await rowOf<{ name: string }>(db, CATALOGUE, {}))?.name ?? '',
    find: (name) => rowOf<CatalogueEntry, 'name'>(db, FIND, { name }),
    add: (entry, instead) => blobs.write(ADD, { entry, instead }),
    use: (entry) => blobs.write(USE, entry),
    remove: (files) => blobs.write(REMOVE, files),
    old: async (after, beforeMs, nowMs, limit) => {
      const values = { after, before: beforeMs, now: nowMs, limit };
      return (await rowsOf<{ name: string }, keyof typeof values>(db, OLD, values)).map(({ name }) => name);
    },
    known: async (objects) => {
      const rows = await rowsOf<{ object: string }, 'objects'>(db, KNOWN, { objects });
      return new Set(rows.map(({ object }) => object));
    },
  };
}
