/** Studies, their plans, the points that have begun, the blobs that a study needs, and which results are not to be reused. */
export const studies = `
  CREATE TABLE study (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL,
    note        TEXT,
    creator     TEXT,
    state       TEXT NOT NULL,
    message     TEXT,
    created_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    point_count INTEGER NOT NULL,
    begun_count INTEGER NOT NULL,
    retry_count INTEGER NOT NULL,
    is_open     INTEGER NOT NULL,
    definition  TEXT NOT NULL -- JSON
  ) STRICT;
  CREATE INDEX study_name ON study (name, seq);
  CREATE INDEX study_running ON study (seq) WHERE state = 'RUNNING';
  CREATE INDEX study_ended ON study (ended_at) WHERE ended_at IS NOT NULL;

  CREATE TABLE study_part (
    study_seq INTEGER NOT NULL REFERENCES study (seq) ON DELETE CASCADE,
    first     INTEGER NOT NULL, -- number of the first point
    count     INTEGER NOT NULL,
    plan      TEXT NOT NULL, -- JSON
    PRIMARY KEY (study_seq, first)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE study_point (
    study_seq   INTEGER NOT NULL REFERENCES study (seq) ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    tries       INTEGER NOT NULL,
    is_due      INTEGER NOT NULL, -- to be tried again, without a task yet
    variables   TEXT NOT NULL, -- JSON
    not_reused  TEXT, -- why no earlier result was taken
    source      TEXT, -- earlier task whose result it has
    outcome     TEXT, -- null while the task of the try waits or runs
    cause       TEXT,
    message     TEXT,
    read_values TEXT, -- JSON
    started_at  INTEGER,
    ended_at    INTEGER,
    PRIMARY KEY (study_seq, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX study_point_open ON study_point (study_seq, number) WHERE outcome IS NULL AND is_due = 0;
  CREATE INDEX study_point_due ON study_point (study_seq, number) WHERE is_due = 1;
  CREATE INDEX study_point_outcome ON study_point (study_seq, outcome);

  CREATE TABLE study_file (
    study_seq  INTEGER NOT NULL REFERENCES study (seq) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    digest     TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    encrypted  INTEGER NOT NULL,
    PRIMARY KEY (study_seq, position)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX study_file_digest ON study_file (digest);
  CREATE TRIGGER study_file_dropped AFTER DELETE ON study_file BEGIN
    INSERT INTO dropped_content (digest, encrypted, size_bytes) VALUES (OLD.digest, OLD.encrypted, OLD.size_bytes);
  END;

  CREATE TABLE invalidation (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    results    TEXT NOT NULL, -- JSON
    note       TEXT,
    creator    TEXT,
    created_at INTEGER NOT NULL
  ) STRICT;
`;
