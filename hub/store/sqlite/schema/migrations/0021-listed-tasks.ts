/** Fields by which lists filter and sort, in rows so narrow that all of them are read fast; see lists/. Texts are as
 *  lists search them: a migrating connection has functions for that, see text-functions.ts. */
export const listedTasks = `
  CREATE TABLE listed_task (
    seq          INTEGER PRIMARY KEY REFERENCES task (seq) ON DELETE CASCADE,
    kind         INTEGER NOT NULL, -- type, status and priority; see task-kinds.ts
    requested_at INTEGER NOT NULL,
    instance_id  TEXT,
    id           TEXT NOT NULL,
    name         TEXT,
    creator      TEXT
  ) STRICT;

  INSERT INTO listed_task (seq, kind, requested_at, instance_id, id, name, creator)
  SELECT seq,
         priority + 64 * (type = 'EXECUTE_BATCH_JOB') + 8 * CASE status
           WHEN 'WAITING' THEN 0 WHEN 'RUNNING' THEN 1 WHEN 'FINISHED' THEN 2 WHEN 'FAILED' THEN 3 ELSE 4 END,
         requested_at, instance_id, searchable(id), searchable(folded(name)), searchable(creator)
  FROM task ORDER BY seq;

  CREATE TRIGGER task_listed AFTER UPDATE OF status, instance_id ON task BEGIN
    UPDATE listed_task SET
      kind = (kind & ~56) | 8 * CASE NEW.status
        WHEN 'WAITING' THEN 0 WHEN 'RUNNING' THEN 1 WHEN 'FINISHED' THEN 2 WHEN 'FAILED' THEN 3 ELSE 4 END,
      instance_id = NEW.instance_id
    WHERE seq = NEW.seq;
  END;
`;
