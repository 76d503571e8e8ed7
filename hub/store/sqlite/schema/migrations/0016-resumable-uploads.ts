/** Resumable uploads to the input storage; their bytes are files until they are complete. */
export const resumableUploads = `
  CREATE TABLE resumable_upload (
    id               TEXT NOT NULL PRIMARY KEY,
    name             TEXT NOT NULL,
    owner            TEXT,
    overwrite        INTEGER NOT NULL,
    encrypt          INTEGER NOT NULL,
    size_bytes       INTEGER NOT NULL,
    received_bytes   INTEGER NOT NULL,
    announced_digest TEXT,
    digest           TEXT, -- of the complete file
    metadata         TEXT NOT NULL,
    created_at       INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL,
    is_stored        INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX resumable_upload_owner ON resumable_upload (owner, is_stored);
  CREATE INDEX resumable_upload_expiry ON resumable_upload (expires_at);
`;
