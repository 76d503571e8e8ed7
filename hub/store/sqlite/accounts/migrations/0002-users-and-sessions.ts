/** Users and their sessions. */
export const usersAndSessions = `
  CREATE TABLE user (
    username      TEXT PRIMARY KEY,
    password_hash TEXT NOT NULL,
    roles         TEXT NOT NULL,
    disabled      INTEGER NOT NULL DEFAULT 0,
    source        TEXT NOT NULL,
    created_at    INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- A session that has ended is removed.
  CREATE TABLE session (
    id         TEXT PRIMARY KEY,
    username   TEXT NOT NULL REFERENCES user (username) ON DELETE CASCADE,
    started_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX session_of_user ON session (username, started_at);
  CREATE INDEX session_expiry ON session (expires_at);

  -- Spent ones are kept for as long as they would have been good, so that a second use is noticed.
  CREATE TABLE refresh_token (
    hash       TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    spent      INTEGER NOT NULL DEFAULT 0,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX refresh_token_of_session ON refresh_token (session_id);
  CREATE INDEX refresh_token_expiry ON refresh_token (expires_at);
`;
