/** Keys by which a repeated create request is recognized, also when their task was deleted. */
export const keysOfDeletedTasks = `
  CREATE TABLE kept_key (
    creator TEXT NOT NULL, -- empty while security is off
    key     TEXT NOT NULL,
    task_id TEXT NOT NULL,
    used_at INTEGER NOT NULL,
    PRIMARY KEY (creator, key)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO kept_key
    SELECT idempotency_key.creator, key, task.id, used_at FROM idempotency_key JOIN task ON seq = task_seq;
  DROP TABLE idempotency_key;
  ALTER TABLE kept_key RENAME TO idempotency_key;
  CREATE INDEX idempotency_key_used ON idempotency_key (used_at);
`;
