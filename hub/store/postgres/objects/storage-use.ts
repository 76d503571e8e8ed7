/** Usage of the storage by one owner: named objects, former blobs that still exist, and unfinished uploads. */
import type { StorageArea, StorageUse } from '../../../core/ports/named-objects.js';
import type { Database } from '../connection/pool.js';
import { rowOf, sql } from '../connection/statement.js';
import { isReferenced } from './blob-references.js';

/** Parameters of {@link USE}. */
export const USE_PARAMETERS = {
  area: 'text',
  owner: 'text',
  exceptName: 'text',
  exceptUpload: 'text',
} as const;

/** Files and bytes, without an object and an unfinished upload that do not count. */
export const USE = `
  SELECT (SELECT count(*) FROM counted) AS files,
    (SELECT coalesce(sum(size_bytes), 0) FROM counted)::bigint + (
      SELECT coalesce(sum(size_bytes), 0) FROM (
        SELECT DISTINCT digest, encrypted, size_bytes FROM dropped_content
        WHERE area = :area AND owner IS NOT DISTINCT FROM :owner
          AND NOT ${isReferenced('dropped_content.digest', 'dropped_content.encrypted')}) AS dropped)::bigint + (
      SELECT coalesce(sum(size_bytes), 0) FROM resumable_upload
      WHERE :area = 'INPUT' AND owner IS NOT DISTINCT FROM :owner AND NOT is_stored AND id <> :exceptUpload)::bigint AS bytes
  FROM (SELECT 1) AS once`;

/** Files that {@link USE} counts; goes before it. */
export const COUNTED = `
  counted AS (
    SELECT size_bytes FROM stored_file
    WHERE area = :area AND owner IS NOT DISTINCT FROM :owner AND name <> :exceptName)`;

const READ_USE = sql(USE_PARAMETERS, `WITH ${COUNTED} ${USE}`);

export async function useOf(
  db: Database,
  area: StorageArea,
  owner: string | null,
  exceptName: string,
): Promise<StorageUse> {
  const values = { area, owner, exceptName, exceptUpload: '' };
  const use = await rowOf<StorageUse, keyof typeof values>(db, READ_USE, values);
  return use ?? { files: 0, bytes: 0 };
}
