import type { BlobCatalogue, CatalogueEntry } from '../../../core/ports/blob-catalogue.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import { anotherTime } from './blob-references.js';

export function sqliteBlobCatalogue(db: SqliteDatabase, commit: GroupCommit): BlobCatalogue {
  const sql = statements(db);
  return {
    name: async () => sql.selectCatalogue.get() as string,
    find: async (name) => sql.select.get(name),
    add: (entry, instead) =>
      commit.relaxed(() => {
        const former = sql.select.get(entry.name);
        const object = former && former.object !== instead ? former.object : entry.object;
        if (object === entry.object) sql.replace.run(entry);
        else sql.use.run({ ...entry, object });
        return object;
      }),
    use: (entry) => commit.relaxed(() => sql.use.run(entry).changes > 0),
    remove: (files) =>
      commit.freeing(() =>
        files.flatMap((file) => {
          const { name, usedAtMs = null } = typeof file === 'string' ? { name: file } : file;
          const object = sql.remove.get({ name, usedAtMs });
          return object === undefined ? [] : [object];
        }),
      ),
    old: async (after, beforeMs, nowMs, limit) => sql.selectOld.all({ after, beforeMs, nowMs, limit }),
    known: async (objects) => new Set(sql.selectKnown.all(JSON.stringify(objects))),
  };
}

/** The statements, prepared once. */
function statements(db: SqliteDatabase) {
  const columns = 'name, object, size_bytes AS sizeBytes, used_at AS usedAtMs';
  return {
    selectCatalogue: db.prepare<[], string>('SELECT name FROM blob_catalogue WHERE id = 0').pluck(),
    select: db.prepare<[string], CatalogueEntry>(`SELECT ${columns} FROM blob_object WHERE name = ?`),
    replace: db.prepare<[CatalogueEntry]>(
      'INSERT OR REPLACE INTO blob_object VALUES (@name, @object, @sizeBytes, @usedAtMs)',
    ),
    use: db.prepare<[Pick<CatalogueEntry, 'name' | 'object' | 'usedAtMs'>]>(
      `UPDATE blob_object SET used_at = ${anotherTime('used_at', '@usedAtMs')} WHERE name = @name AND object = @object`,
    ),
    remove: db
      .prepare<[{ name: string; usedAtMs: number | null }], string>(
        'DELETE FROM blob_object WHERE name = @name AND used_at = coalesce(@usedAtMs, used_at) RETURNING object',
      )
      .pluck(),
    selectOld: db
      .prepare<[{ after: string; beforeMs: number; nowMs: number; limit: number }], string>(
        `SELECT name FROM blob_object WHERE name > @after AND (used_at < @beforeMs OR used_at > @nowMs)
         ORDER BY name LIMIT @limit`,
      )
      .pluck(),
    selectKnown: db
      .prepare<[string], string>(
        'SELECT object FROM blob_object WHERE object IN (SELECT value FROM json_each(?))',
      )
      .pluck(),
  };
}
