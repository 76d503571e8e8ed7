/** Rows of named objects, in statements of their own and with the ends of tasks. */
import { createHash } from 'node:crypto';
import type { NamedObject } from '../../../core/ports/named-objects.js';

/** Parameters of the objects that tasks leave in the storage. */
export const OBJECT_PARAMETERS = {
  objectAts: 'integer[]',
  objectPositions: 'integer[]',
  objectAreas: 'text[]',
  objectNameDigests: 'text[]',
  objectNames: 'text[]',
  objectDigests: 'text[]',
  objectSizes: 'bigint[]',
  objectEncrypted: 'boolean[]',
  objectOwners: 'text[]',
  objectStoredAts: 'bigint[]',
  objectExpiresAts: 'bigint[]',
} as const;

/** Columns of an object, in the order of an insertion. */
export const OBJECT_COLUMNS =
  'area, name_digest, name, digest, size_bytes, encrypted, owner, stored_at, expires_at';

/** Replaces an object of the same name. */
export const REPLACE_OBJECT = `
  ON CONFLICT (area, name_digest) DO UPDATE SET digest = excluded.digest, size_bytes = excluded.size_bytes,
    encrypted = excluded.encrypted, owner = excluded.owner, stored_at = excluded.stored_at, expires_at = excluded.expires_at`;

/** Adds the objects of the tasks that `tasks` names by `seq` and `at`, and their names to the results of the tasks. Of several
 *  with the same name the last one stays. */
export const addObjects = (tasks: string) => `
  objects AS (
    SELECT ${tasks}.seq, object.* FROM ${tasks} JOIN unnest(:objectAts, :objectPositions, :objectAreas, :objectNameDigests,
        :objectNames, :objectDigests, :objectSizes, :objectEncrypted, :objectOwners, :objectStoredAts, :objectExpiresAts)
      AS object (at, position, ${OBJECT_COLUMNS}) ON object.at = ${tasks}.at),
  stored AS (
    INSERT INTO stored_file (${OBJECT_COLUMNS})
    SELECT DISTINCT ON (area, name_digest) ${OBJECT_COLUMNS} FROM objects ORDER BY area, name_digest, at DESC, position DESC
    ${REPLACE_OBJECT}),
  listed AS (
    INSERT INTO task_stored_file (task_seq, position, name, size_bytes) SELECT seq, position, name, size_bytes FROM objects)`;

/** @param objects Those of each task of the batch, which are numbered from 1. */
export function objectValues(
  objects: readonly (readonly NamedObject[])[],
): Readonly<Record<keyof typeof OBJECT_PARAMETERS, unknown>> {
  const all = objects.flatMap((ofTask, index) =>
    ofTask.map((object, position) => ({ at: index + 1, position, object })),
  );
  return {
    objectAts: all.map(({ at }) => at),
    objectPositions: all.map(({ position }) => position),
    objectAreas: all.map(({ object }) => object.area),
    objectNameDigests: all.map(({ object }) => nameDigest(object.name)),
    objectNames: all.map(({ object }) => object.name),
    objectDigests: all.map(({ object }) => object.digest),
    objectSizes: all.map(({ object }) => object.sizeBytes),
    objectEncrypted: all.map(({ object }) => object.encrypted === true),
    objectOwners: all.map(({ object }) => object.owner),
    objectStoredAts: all.map(({ object }) => object.storedAtMs),
    objectExpiresAts: all.map(({ object }) => object.expiresAtMs),
  };
}

/** Stands for a name in the index, which has no room for the longest ones. */
export function nameDigest(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}
