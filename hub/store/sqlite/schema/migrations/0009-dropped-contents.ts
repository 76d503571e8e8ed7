/** Log of removed references to blobs, written in the transaction of the removal: unreferenced blobs are removed soon
 *  afterwards, even when the hub is killed in between. */
export const droppedContents = `
  CREATE TABLE dropped_content (
    id         INTEGER PRIMARY KEY,
    digest     TEXT NOT NULL,
    encrypted  INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    area       TEXT, -- of the storage; null for the reference of a task
    owner      TEXT
  ) STRICT;
  CREATE INDEX dropped_content_owner ON dropped_content (area, owner) WHERE area IS NOT NULL;

  CREATE TRIGGER task_file_dropped AFTER DELETE ON task_file BEGIN
    INSERT INTO dropped_content (digest, encrypted, size_bytes) VALUES (OLD.digest, OLD.encrypted, OLD.size_bytes);
  END;
  CREATE TRIGGER stored_file_dropped AFTER DELETE ON stored_file BEGIN
    INSERT INTO dropped_content (digest, encrypted, size_bytes, area, owner)
    VALUES (OLD.digest, OLD.encrypted, OLD.size_bytes, OLD.area, OLD.owner);
  END;
  CREATE TRIGGER stored_file_replaced AFTER UPDATE OF digest, encrypted ON stored_file
  WHEN OLD.digest <> NEW.digest OR OLD.encrypted <> NEW.encrypted BEGIN
    INSERT INTO dropped_content (digest, encrypted, size_bytes, area, owner)
    VALUES (OLD.digest, OLD.encrypted, OLD.size_bytes, OLD.area, OLD.owner);
  END;
`;
