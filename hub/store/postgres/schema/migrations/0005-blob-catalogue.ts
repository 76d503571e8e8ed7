/** Catalogue of an object store: the objects that have the files of blobs. */
export const blobCatalogue = {
  id: '0005-blob-catalogue',
  phase: 'expand',
  sql: `
  CREATE TABLE blob_object (
    name       TEXT COLLATE "C" PRIMARY KEY, -- of the file
    object     TEXT COLLATE "C" NOT NULL UNIQUE,
    size_bytes BIGINT NOT NULL,
    used_at    BIGINT NOT NULL
  );

  -- Objects of several catalogues may be in one bucket.
  CREATE TABLE blob_catalogue (
    id   SMALLINT PRIMARY KEY CHECK (id = 0),
    name TEXT COLLATE "C" NOT NULL
  );
  INSERT INTO blob_catalogue VALUES (0, substr(replace(gen_random_uuid()::text, '-', ''), 1, 12));
`,
} as const;
