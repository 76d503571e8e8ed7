/** Key files, places of blobs and requirements, which several hubs share. */
export const shared = {
  id: '0007-shared',
  phase: 'expand',
  sql: `
  -- Copies of key files, by which all hubs have the same ones.
  CREATE TABLE key_file (
    name    TEXT COLLATE "C" PRIMARY KEY,
    content TEXT COLLATE "C" NOT NULL
  );

  -- The place of the blobs of each hub.
  ALTER TABLE hub
    ADD COLUMN place_id TEXT COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN place    TEXT COLLATE "C" NOT NULL DEFAULT '';

  -- A hub may not remove a requirement to which another one adds a task.
  ALTER TABLE task_request ADD CONSTRAINT task_request_has_requirement
    FOREIGN KEY (requirement_id) REFERENCES requirement (id) NOT VALID;
`,
} as const;
