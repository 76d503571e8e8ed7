/** Addresses that tasks name for their end, and the deliveries of ends; see webhook-deliveries.ts. */
export const webhookDeliveries = `
  CREATE TABLE task_notify (
    task_seq INTEGER PRIMARY KEY REFERENCES task (seq) ON DELETE CASCADE,
    url      TEXT NOT NULL,
    receiver TEXT NOT NULL
  ) STRICT;

  -- Without reference to the task, whose removal it survives.
  CREATE TABLE webhook_delivery (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id  TEXT NOT NULL,
    hook     TEXT NOT NULL, -- name of a webhook of the configuration; empty for the address of the task
    receiver TEXT NOT NULL,
    url      TEXT,          -- only that of the task
    task     TEXT,          -- the columns of the task as it ended; null when the delivery has ended
    told_of  INTEGER NOT NULL, -- end of the task
    tries    INTEGER NOT NULL DEFAULT 0,
    next_at  INTEGER,       -- null when the delivery has ended
    state    TEXT NOT NULL,
    ended_at INTEGER,
    fault    TEXT,
    UNIQUE (task_id, hook)
  ) STRICT;
  CREATE INDEX webhook_delivery_due ON webhook_delivery (receiver, next_at) WHERE next_at IS NOT NULL;
  CREATE INDEX webhook_delivery_age ON webhook_delivery (receiver, told_of) WHERE next_at IS NOT NULL;
  CREATE INDEX webhook_delivery_ended ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
`;
