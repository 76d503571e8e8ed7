/** Inline blobs, named objects of the storage, resumable uploads, and the log of removed references to blobs. */
export const storage = {
  id: '0003-storage',
  phase: 'expand',
  sql: `
  CREATE TABLE small_file (
    digest    TEXT COLLATE "C" PRIMARY KEY,
    stored_at BIGINT NOT NULL,
    content   BYTEA NOT NULL
  );
  -- The blobs are often compressed already.
  ALTER TABLE small_file ALTER content SET STORAGE EXTERNAL;

  -- Names can be too long for an index.
  CREATE TABLE stored_file (
    area        TEXT COLLATE "C" NOT NULL,
    name_digest TEXT COLLATE "C" NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    digest      TEXT COLLATE "C" NOT NULL,
    size_bytes  BIGINT NOT NULL,
    encrypted   BOOLEAN NOT NULL,
    owner       TEXT COLLATE "C",
    stored_at   BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    PRIMARY KEY (area, name_digest)
  );
  CREATE INDEX stored_file_name ON stored_file (area, left(name, 200));
  CREATE INDEX stored_file_digest ON stored_file (digest);
  CREATE INDEX stored_file_expiry ON stored_file (expires_at);
  CREATE INDEX stored_file_owner ON stored_file (area, owner);

  CREATE TABLE resumable_upload (
    id               TEXT COLLATE "C" PRIMARY KEY,
    name             TEXT COLLATE "C" NOT NULL,
    owner            TEXT COLLATE "C",
    overwrite        BOOLEAN NOT NULL,
    encrypt          BOOLEAN NOT NULL,
    size_bytes       BIGINT NOT NULL,
    received_bytes   BIGINT NOT NULL,
    announced_digest TEXT COLLATE "C",
    digest           TEXT COLLATE "C", -- of the complete file
    metadata         TEXT COLLATE "C" NOT NULL,
    created_at       BIGINT NOT NULL,
    expires_at       BIGINT NOT NULL,
    is_stored        BOOLEAN NOT NULL
  );
  CREATE INDEX resumable_upload_owner ON resumable_upload (owner, is_stored);
  CREATE INDEX resumable_upload_expiry ON resumable_upload (expires_at);

  -- Removed references to blobs, logged in the transaction of the removal: unreferenced blobs are removed soon afterwards, even
  -- when the hub is killed in between.
  CREATE TABLE dropped_content (
    id         BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    digest     TEXT COLLATE "C" NOT NULL,
    encrypted  BOOLEAN NOT NULL,
    size_bytes BIGINT NOT NULL,
    area       TEXT COLLATE "C", -- of the storage; null for the reference of a task
    owner      TEXT COLLATE "C"
  );
  CREATE INDEX dropped_content_owner ON dropped_content (area, owner) WHERE area IS NOT NULL;

  CREATE FUNCTION log_dropped_task_files() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO dropped_content (digest, encrypted, size_bytes)
    SELECT digest, encrypted, size_bytes FROM dropped ORDER BY task_seq, role, position;
    RETURN NULL;
  END $$;
  CREATE TRIGGER task_file_dropped AFTER DELETE ON task_file REFERENCING OLD TABLE AS dropped
    FOR EACH STATEMENT EXECUTE FUNCTION log_dropped_task_files();

  CREATE FUNCTION log_dropped_stored_file() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO dropped_content (digest, encrypted, size_bytes, area, owner)
    VALUES (OLD.digest, OLD.encrypted, OLD.size_bytes, OLD.area, OLD.owner);
    RETURN NULL;
  END $$;
  CREATE TRIGGER stored_file_dropped AFTER DELETE ON stored_file
    FOR EACH ROW EXECUTE FUNCTION log_dropped_stored_file();
  CREATE TRIGGER stored_file_replaced AFTER UPDATE OF digest, encrypted ON stored_file
    FOR EACH ROW WHEN (OLD.digest <> NEW.digest OR OLD.encrypted <> NEW.encrypted)
    EXECUTE FUNCTION log_dropped_stored_file();
`,
} as const;
