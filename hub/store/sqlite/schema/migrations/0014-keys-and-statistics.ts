/** Keys by which a repeated create request is recognized, and statistics of tasks over time. */
export const keysAndStatistics = `
  CREATE TABLE idempotency_key (
    creator  TEXT NOT NULL, -- empty while security is off
    key      TEXT NOT NULL,
    task_seq INTEGER NOT NULL REFERENCES task (seq) ON DELETE CASCADE,
    used_at  INTEGER NOT NULL,
    PRIMARY KEY (creator, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_key_task ON idempotency_key (task_seq);
  CREATE INDEX idempotency_key_used ON idempotency_key (used_at);

  CREATE TABLE task_statistics (
    step      TEXT NOT NULL, -- MINUTE or HOUR
    start     INTEGER NOT NULL,
    created   INTEGER NOT NULL,
    started   INTEGER NOT NULL,
    finished  INTEGER NOT NULL,
    failed    INTEGER NOT NULL,
    canceled  INTEGER NOT NULL,
    lost      INTEGER NOT NULL,
    waited_ms INTEGER NOT NULL,
    ran_ms    INTEGER NOT NULL,
    PRIMARY KEY (step, start)
  ) STRICT, WITHOUT ROWID;
`;
