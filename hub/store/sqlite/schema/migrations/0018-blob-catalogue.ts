/** Catalogue of an object store: the objects that have the files of blobs; see blob-catalogue.ts. */
export const blobCatalogue = `
  CREATE TABLE blob_object (
    name       TEXT NOT NULL PRIMARY KEY, -- of the file
    object     TEXT NOT NULL UNIQUE,
    size_bytes INTEGER NOT NULL,
    used_at    INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- Objects of several catalogues may be in one bucket.
  CREATE TABLE blob_catalogue (
    id   INTEGER PRIMARY KEY CHECK (id = 0),
    name TEXT NOT NULL
  ) STRICT;
  INSERT INTO blob_catalogue VALUES (0, lower(hex(randomblob(6))));
`;
