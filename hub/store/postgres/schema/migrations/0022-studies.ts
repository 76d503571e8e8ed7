/** Studies, their plans, the points that have begun, the blobs that a study needs, and which results are not to be reused. */
export const studies = {
  id: '0022-studies',
  phase: 'expand',
  sql: `
  CREATE TABLE study (
    seq         BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id          TEXT COLLATE "C" NOT NULL UNIQUE,
    name        TEXT COLLATE "C" NOT NULL,
    name_digest TEXT COLLATE "C" GENERATED ALWAYS AS (md5(name)) STORED, -- names can be too long for an index
    note        TEXT COLLATE "C",
    creator     TEXT COLLATE "C",
    state       TEXT COLLATE "C" NOT NULL,
    message     TEXT COLLATE "C",
    created_at  BIGINT NOT NULL,
    ended_at    BIGINT,
    point_count BIGINT NOT NULL,
    begun_count BIGINT NOT NULL,
    retry_count BIGINT NOT NULL,
    is_open     BOOLEAN NOT NULL,
    definition  TEXT COLLATE "C" NOT NULL -- JSON
  );
  CREATE INDEX study_name ON study (name_digest, seq);
  CREATE INDEX study_running ON study (seq) WHERE state = 'RUNNING';
  CREATE INDEX study_ended ON study (ended_at) WHERE ended_at IS NOT NULL;

  CREATE TABLE study_part (
    study_seq BIGINT NOT NULL REFERENCES study (seq) ON DELETE CASCADE,
    first     BIGINT NOT NULL, -- number of the first point
    count     BIGINT NOT NULL,
    plan      TEXT COLLATE "C" NOT NULL, -- JSON
    PRIMARY KEY (study_seq, first)
  );

  CREATE TABLE study_point (
    study_seq   BIGINT NOT NULL REFERENCES study (seq) ON DELETE CASCADE,
    number      BIGINT NOT NULL,
    tries       INTEGER NOT NULL,
    is_due      BOOLEAN NOT NULL, -- to be tried again, without a task yet
    variables   TEXT COLLATE "C" NOT NULL, -- JSON
    not_reused  TEXT COLLATE "C", -- why no earlier result was taken
    source      TEXT COLLATE "C", -- earlier task whose result it has
    outcome     TEXT COLLATE "C", -- null while the task of the try waits or runs
    cause       TEXT COLLATE "C",
    message     TEXT COLLATE "C",
    read_values TEXT COLLATE "C", -- JSON
    started_at  BIGINT,
    ended_at    BIGINT,
    PRIMARY KEY (study_seq, number)
  );
  CREATE INDEX study_point_open ON study_point (study_seq, number) WHERE outcome IS NULL AND NOT is_due;
  CREATE INDEX study_point_due ON study_point (study_seq, number) WHERE is_due;
  CREATE INDEX study_point_outcome ON study_point (study_seq, outcome);

  CREATE TABLE study_file (
    study_seq  BIGINT NOT NULL REFERENCES study (seq) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    digest     TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL,
    encrypted  BOOLEAN NOT NULL,
    PRIMARY KEY (study_seq, position)
  );
  CREATE INDEX study_file_digest ON study_file (digest);
  CREATE FUNCTION log_dropped_study_file() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO dropped_content (digest, encrypted, size_bytes) VALUES (OLD.digest, OLD.encrypted, OLD.size_bytes);
    RETURN NULL;
  END $$;
  CREATE TRIGGER study_file_dropped AFTER DELETE ON study_file
    FOR EACH ROW EXECUTE FUNCTION log_dropped_study_file();

  CREATE TABLE invalidation (
    seq        BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id         TEXT COLLATE "C" NOT NULL UNIQUE,
    results    TEXT COLLATE "C" NOT NULL, -- JSON
    note       TEXT COLLATE "C",
    creator    TEXT COLLATE "C",
    created_at BIGINT NOT NULL
  );
`,
} as const;
