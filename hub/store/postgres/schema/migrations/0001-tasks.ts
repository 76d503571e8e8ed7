/** Tasks with their queue, the blobs that they refer to, known agents, and the lanes by which the hub writes. */
export const tasks = {
  id: '0001-tasks',
  phase: 'expand',
  sql: `
  -- One row for each lane: a sequence of batches that one hub writes; see lane.ts.
  CREATE TABLE lane (
    id          SMALLINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    hub         TEXT NOT NULL,
    name        TEXT NOT NULL,
    incarnation TEXT NOT NULL, -- of the hub that may write
    batch       BIGINT NOT NULL DEFAULT 0,
    outcome     TEXT, -- of the latest batch
    changes     BIGINT NOT NULL DEFAULT 0, -- changes of tasks so far
    logged      BIGINT NOT NULL DEFAULT 0, -- batch of the lane of claims up to which this lane has logged claims
    UNIQUE (hub, name)
  );
  ALTER TABLE lane ALTER outcome SET STORAGE MAIN;

  -- One row for each set of requirements that tasks have asked for: the groups of the queue. Keys can be too long for an index.
  CREATE TABLE requirement (
    id     BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    digest TEXT COLLATE "C" NOT NULL UNIQUE,
    key    TEXT COLLATE "C" NOT NULL
  );

  CREATE SEQUENCE task_seq;

  -- The part of a task that its transitions change, and by which queues and lists are ordered. Tables with a task_seq have no
  -- foreign key, which would cost a look-up for each row: REMOVE in task-removal.ts removes from all of them.
  CREATE TABLE task (
    seq               BIGINT PRIMARY KEY,
    type              TEXT COLLATE "C" NOT NULL,
    status            TEXT COLLATE "C" NOT NULL,
    priority          SMALLINT NOT NULL,
    -- Type, status and priority as one number, by which lists select.
    kind              SMALLINT NOT NULL GENERATED ALWAYS AS (
      priority + 8 * CASE status WHEN 'WAITING' THEN 0 WHEN 'RUNNING' THEN 1 WHEN 'FINISHED' THEN 2 WHEN 'FAILED' THEN 3
        WHEN 'CANCELED' THEN 4 END + 64 * CASE type WHEN 'SIMULATE_WORK' THEN 0 WHEN 'EXECUTE_BATCH_JOB' THEN 1 END) STORED,
    requirement_id    BIGINT NOT NULL,
    started_at        BIGINT,
    ended_at          BIGINT,
    attempt           INTEGER NOT NULL DEFAULT 0,
    crashes           INTEGER NOT NULL DEFAULT 0,
    losses            INTEGER NOT NULL DEFAULT 0,
    agent_id          TEXT COLLATE "C",
    instance_id       TEXT COLLATE "C",
    instance_version  TEXT COLLATE "C",
    instance_revision TEXT COLLATE "C",
    batch_status      TEXT COLLATE "C",
    message           TEXT COLLATE "C"
  ) WITH (fillfactor = 85);
  CREATE INDEX task_kind ON task (kind, seq);
  CREATE INDEX task_waiting ON task (requirement_id, priority, seq) WHERE status = 'WAITING';
  CREATE INDEX task_running ON task (agent_id) WHERE status = 'RUNNING';
  CREATE INDEX task_ended ON task (ended_at) WHERE ended_at IS NOT NULL;

  -- The part of a task that never changes.
  CREATE TABLE task_request (
    task_seq       BIGINT PRIMARY KEY,
    id             TEXT COLLATE "C" NOT NULL UNIQUE,
    requirement_id BIGINT NOT NULL,
    requested_at   BIGINT NOT NULL,
    time_limit_s   BIGINT,
    creator        TEXT COLLATE "C",
    name           TEXT COLLATE "C",
    classifiers    TEXT COLLATE "C" NOT NULL,
    request_id     TEXT COLLATE "C",
    trace_context  TEXT COLLATE "C",
    ignored_fields TEXT COLLATE "C",
    job            TEXT COLLATE "C" NOT NULL
  );
  CREATE INDEX task_request_requirement ON task_request (requirement_id);

  -- The texts by which lists are filtered, as searchable-text.ts writes them: narrow rows, which a scan reads fast.
  CREATE TABLE task_text (
    task_seq     BIGINT PRIMARY KEY,
    requested_at BIGINT NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C",
    creator      TEXT COLLATE "C"
  );

  -- Numbers of tasks of each kind: appended with each change and added up now and then, so that no row is contended.
  CREATE TABLE task_count (
    kind  SMALLINT NOT NULL,
    tasks BIGINT NOT NULL
  );
  CREATE FUNCTION count_added_tasks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO task_count SELECT kind, count(*) FROM added GROUP BY kind;
    RETURN NULL;
  END $$;
  CREATE FUNCTION count_changed_tasks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO task_count SELECT kind, sum(tasks) FROM (
      SELECT kind, -1 AS tasks FROM former UNION ALL SELECT kind, 1 FROM changed) AS each GROUP BY kind HAVING sum(tasks) <> 0;
    RETURN NULL;
  END $$;
  CREATE FUNCTION count_removed_tasks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO task_count SELECT kind, -count(*) FROM removed GROUP BY kind;
    RETURN NULL;
  END $$;
  CREATE TRIGGER task_added AFTER INSERT ON task REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION count_added_tasks();
  CREATE TRIGGER task_changed AFTER UPDATE ON task REFERENCING OLD TABLE AS former NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION count_changed_tasks();
  CREATE TRIGGER task_removed AFTER DELETE ON task REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION count_removed_tasks();

  -- The blobs that a task names: INPUT (for keeping them), OUTPUT and LOG.
  CREATE TABLE task_file (
    task_seq   BIGINT NOT NULL,
    role       TEXT COLLATE "C" NOT NULL,
    position   INTEGER NOT NULL,
    path       TEXT COLLATE "C",
    digest     TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL,
    encrypted  BOOLEAN NOT NULL,
    PRIMARY KEY (task_seq, role, position)
  );
  CREATE INDEX task_file_digest ON task_file (digest);

  -- What the result of a task says of the output storage: it keeps no blob, since the names there expire.
  CREATE TABLE task_stored_file (
    task_seq   BIGINT NOT NULL,
    position   INTEGER NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL,
    PRIMARY KEY (task_seq, position)
  );

  -- Attempts that ended without ending their task. The latest attempt of a task is in its row.
  CREATE TABLE former_attempt (
    task_seq          BIGINT NOT NULL,
    attempt           INTEGER NOT NULL,
    agent_id          TEXT COLLATE "C" NOT NULL,
    instance_id       TEXT COLLATE "C" NOT NULL,
    instance_version  TEXT COLLATE "C" NOT NULL,
    instance_revision TEXT COLLATE "C" NOT NULL,
    started_at        BIGINT,
    ended_at          BIGINT,
    loss              TEXT COLLATE "C" NOT NULL,
    reason            TEXT COLLATE "C",
    PRIMARY KEY (task_seq, attempt)
  );

  -- Agents that returned a task for a host fault, and do not get it again for a while.
  CREATE TABLE task_exclusion (
    task_seq BIGINT NOT NULL,
    agent_id TEXT COLLATE "C" NOT NULL,
    reason   TEXT COLLATE "C" NOT NULL,
    noted_at BIGINT NOT NULL,
    PRIMARY KEY (task_seq, agent_id)
  );

  -- Keys by which a repeated create request is recognized.
  CREATE TABLE idempotency_key (
    creator  TEXT COLLATE "C" NOT NULL, -- empty while security is off
    key      TEXT COLLATE "C" NOT NULL,
    task_seq BIGINT NOT NULL,
    used_at  BIGINT NOT NULL,
    PRIMARY KEY (creator, key)
  );
  CREATE INDEX idempotency_key_task ON idempotency_key (task_seq);
  CREATE INDEX idempotency_key_used ON idempotency_key (used_at);

  CREATE TABLE agent (
    id              TEXT COLLATE "C" PRIMARY KEY,
    version         TEXT COLLATE "C" NOT NULL,
    revision        TEXT COLLATE "C" NOT NULL,
    seen_at         BIGINT NOT NULL,
    clock_offset_ms BIGINT,
    instances       TEXT COLLATE "C" NOT NULL
  );

  CREATE TABLE task_statistics (
    step      TEXT COLLATE "C" NOT NULL, -- MINUTE or HOUR
    start     BIGINT NOT NULL,
    created   BIGINT NOT NULL,
    started   BIGINT NOT NULL,
    finished  BIGINT NOT NULL,
    failed    BIGINT NOT NULL,
    canceled  BIGINT NOT NULL,
    lost      BIGINT NOT NULL,
    waited_ms BIGINT NOT NULL,
    ran_ms    BIGINT NOT NULL,
    PRIMARY KEY (step, start)
  );
`,
} as const;
