/** Tasks with their queue, the blobs that they refer to, and known agents. */
export const initial = `
  -- One row for each set of requirements that tasks have asked for: the groups of the queue.
  CREATE TABLE requirement (
    id  INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE
  ) STRICT;

  CREATE TABLE task (
    seq               INTEGER PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    type              TEXT NOT NULL,
    status            TEXT NOT NULL,
    priority          INTEGER NOT NULL,
    requirement_id    INTEGER NOT NULL REFERENCES requirement (id),
    requested_at      INTEGER NOT NULL,
    started_at        INTEGER,
    ended_at          INTEGER,
    attempt           INTEGER NOT NULL DEFAULT 0,
    crashes           INTEGER NOT NULL DEFAULT 0,
    losses            INTEGER NOT NULL DEFAULT 0,
    agent_id          TEXT,
    instance_id       TEXT,
    instance_version  TEXT,
    instance_revision TEXT,
    batch_status      TEXT,
    time_limit_s      INTEGER,
    creator           TEXT,
    name              TEXT,
    name_folded       TEXT,
    classifiers       TEXT NOT NULL,
    message           TEXT,
    job               TEXT NOT NULL
  ) STRICT;
  CREATE INDEX task_waiting ON task (requirement_id, priority, seq) WHERE status = 'WAITING';
  CREATE INDEX task_running ON task (agent_id) WHERE status = 'RUNNING';
  CREATE INDEX task_ended ON task (ended_at) WHERE ended_at IS NOT NULL;

  -- The contents that a task names: INPUT (for keeping them), OUTPUT and LOG.
  CREATE TABLE task_file (
    task_seq   INTEGER NOT NULL REFERENCES task (seq) ON DELETE CASCADE,
    role       TEXT NOT NULL,
    position   INTEGER NOT NULL,
    path       TEXT,
    digest     TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    PRIMARY KEY (task_seq, role, position)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX task_file_digest ON task_file (digest);

  CREATE TABLE small_file (
    digest    TEXT PRIMARY KEY,
    stored_at INTEGER NOT NULL,
    content   BLOB NOT NULL
  ) STRICT;

  CREATE TABLE agent (
    id        TEXT PRIMARY KEY,
    version   TEXT NOT NULL,
    revision  TEXT NOT NULL,
    seen_at   INTEGER NOT NULL,
    instances TEXT NOT NULL
  ) STRICT;
`;
