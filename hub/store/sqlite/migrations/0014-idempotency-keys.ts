/** Keys by which a repeated create request is recognized. */
export const idempotencyKeys = `
  CREATE TABLE idempotency_key (
    creator  TEXT NOT NULL, -- empty while security is off
    key      TEXT NOT NULL,
    task_seq INTEGER NOT NULL REFERENCES task (seq) ON DELETE CASCADE,
    used_at  INTEGER NOT NULL,
    PRIMARY KEY (creator, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_key_task ON idempotency_key (task_seq);
  CREATE INDEX idempotency_key_used ON idempotency_key (used_at);
`;
