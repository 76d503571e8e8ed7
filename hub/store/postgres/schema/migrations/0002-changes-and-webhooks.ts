/** The log of the changes of tasks, and the deliveries of their ends. */
export const changesAndWebhooks = {
  id: '0002-changes-and-webhooks',
  phase: 'expand',
  sql: `
  -- One row for each batch that changes tasks; see change-log.ts.
  CREATE TABLE task_change (
    lane_id SMALLINT NOT NULL,
    first   BIGINT NOT NULL, -- number of the first change of the batch in its lane; the others follow it
    changes TEXT COLLATE "C" NOT NULL, -- JSON: seq of each changed task, id of each removed one
    PRIMARY KEY (lane_id, first)
  );

  -- The numbers of the log count within one history: a restored database begins another.
  CREATE TABLE change_history (
    id   SMALLINT PRIMARY KEY CHECK (id = 0),
    name TEXT COLLATE "C" NOT NULL
  );
  INSERT INTO change_history VALUES (0, substr(replace(gen_random_uuid()::text, '-', ''), 1, 12));

  -- Addresses that tasks name for their end.
  CREATE TABLE task_notify (
    task_seq BIGINT PRIMARY KEY,
    url      TEXT COLLATE "C" NOT NULL,
    receiver TEXT COLLATE "C" NOT NULL
  );

  -- Deliveries survive the removal of their task.
  CREATE TABLE webhook_delivery (
    id       BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    task_id  TEXT COLLATE "C" NOT NULL,
    hook     TEXT COLLATE "C" NOT NULL, -- name of a webhook of the configuration; empty for the address of the task
    receiver TEXT COLLATE "C" NOT NULL,
    url      TEXT COLLATE "C", -- only that of the task
    task     JSON,             -- the columns of the task as it ended; null when the delivery has ended
    told_of  BIGINT NOT NULL,  -- end of the task
    tries    INTEGER NOT NULL DEFAULT 0,
    next_at  BIGINT,           -- null when the delivery has ended
    state    TEXT COLLATE "C" NOT NULL,
    ended_at BIGINT,
    fault    TEXT COLLATE "C",
    UNIQUE (task_id, hook)
  );
  CREATE INDEX webhook_delivery_due ON webhook_delivery (receiver, next_at) WHERE next_at IS NOT NULL;
  CREATE INDEX webhook_delivery_age ON webhook_delivery (receiver, told_of) WHERE next_at IS NOT NULL;
  CREATE INDEX webhook_delivery_ended ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
`,
} as const;
