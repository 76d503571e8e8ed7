/** Usage of the storage by one owner: named objects, former blobs that still exist, and unfinished uploads. */
import type { StorageArea, StorageUse } from '../../../core/ports/named-objects.js';
import type { SqliteDatabase } from '../connection/database.js';
import { isReferenced } from './blob-references.js';

export interface UseQuery {
  readonly area: StorageArea;
  readonly owner: string | null;
  /** Name that is not counted. */
  readonly except: string;
  /** Unfinished upload that is not counted; none when left out. */
  readonly exceptUpload?: string;
}

export type UseOf = (query: UseQuery) => StorageUse;

export function storageUse(db: SqliteDatabase): UseOf {
  const selectNamed = db.prepare<[UseQuery], { files: number; bytes: number }>(`
    SELECT count(*) AS files, coalesce(sum(size_bytes), 0) AS bytes FROM stored_file
    WHERE area = @area AND owner IS @owner AND name <> @except`);
  const sumDropped = db
    .prepare<[UseQuery], number>(`
      SELECT coalesce(sum(size_bytes), 0) FROM (
        SELECT DISTINCT digest, encrypted, size_bytes FROM dropped_content
        WHERE area = @area AND owner IS @owner AND NOT ${isReferenced('dropped_content.digest', 'dropped_content.encrypted')})`)
    .pluck();
  const sumUploads = db
    .prepare<[{ owner: string | null; exceptUpload: string }], number>(`
      SELECT coalesce(sum(size_bytes), 0) FROM resumable_upload
      WHERE owner IS @owner AND is_stored = 0 AND id <> @exceptUpload`)
    .pluck();
  return (query) => {
    const { area, owner, exceptUpload = '' } = query;
    const named = selectNamed.get(query) as { files: number; bytes: number };
    const uploads = area === 'INPUT' ? (sumUploads.get({ owner, exceptUpload }) as number) : 0;
    return { files: named.files, bytes: named.bytes + (sumDropped.get(query) as number) + uploads };
  };
}
